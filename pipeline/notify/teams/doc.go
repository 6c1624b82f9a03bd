// Package teams posts to a channel of Microsoft Teams, by the webhook of a workflow
// (Power Automate: "Post to a channel when a webhook request is received").
//
// It owns the Adaptive Card of a message and its bounds. The address of a workflow is
// its secret, so it is kept in a file and never logged.
package teams
