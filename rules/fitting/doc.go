// Package fitting fits the weights of signatures to labelled recordings.
//
// The answers to one judgement are weighed in log-odds that are linear in the
// strengths of their features, and share their odds among themselves: a conditional
// logit (McFadden 1974). Its weights are those that make the right answers
// likeliest, kept near the weights that were there before by a ridge. The
// confidence of an answer is then the share of such answers that are right, as far
// as the recordings are like the site.
package fitting
