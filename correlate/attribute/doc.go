// Package attribute says what a trouble costs: the counterfactual, which is
// what a step would take without it, and the loss against that.
//
// It owns the arithmetic of loss and the severity that follows from it. It
// never decides who caused the trouble.
package attribute
