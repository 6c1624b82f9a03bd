// Package nccl puts what NCCL knows of a simulated site's training jobs on the
// wire: its RAS service, a port for each job, and the files of its Inspector, one
// of each GPU.
//
// It owns the form of both. It must never know who reads them, and it invents
// nothing: which rank has begun how many collectives, how long each took and how
// much it moved is what the site's ranks did.
package nccl
