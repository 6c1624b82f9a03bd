// Package gpu is a GPU's power and clock: what it draws at a clock, a
// temperature and an activity, what clock its governor gives it under caps,
// heat and the brake, and which clock event reasons it states.
//
// It owns the constants of that relation, calibrated against power-limit sweeps
// (fixtures power/zeus), and how much slower work gets at a lower clock. It
// knows neither the work nor what cools it: activity and temperature are
// passed in.
package gpu
