// Package attribute computes what a trouble costs: the counterfactual, which is
// what a step would take without it, the loss against that, and to which cause it
// is attributed; and where all the other GPU-seconds go.
//
// It owns the arithmetic of loss and the severity that follows from it; the shares
// of concurrent roots; the ledger of losses by job, cause, domain and day, and the
// coupling of the domains; the MFU budget from peak to achieved, with its order of
// removal, and the scores of bottlenecks. All that it keeps is bounded. It never
// decides what caused a trouble, and nothing is judged by what it keeps.
package attribute
