package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
)

func main() {
	program := flag.String("plugin", "dist/gpx_quintet_linux_amd64", "the back end's program")
	quintet := flag.String("quintet", "http://127.0.0.1:8420", "where Quintet is")
	page := flag.String("page", "testhost/out", "the page's folder")
	dist := flag.String("dist", "dist", "the built front end")
	listen := flag.String("listen", "127.0.0.1:0", "where the page is served")
	flag.Parse()
	if err := run(*program, *quintet, *listen, http.Dir(*page), http.Dir(*dist)); err != nil {
		fmt.Fprintln(os.Stderr, "testhost:", err)
		os.Exit(1)
	}
}

func run(program, quintet, listen string, page, dist http.FileSystem) error {
	p, err := start(program, os.Stderr)
	if err != nil {
		return err
	}
	defer p.stop()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Printf("testhost: http://%s/\n", l.Addr())
	return http.Serve(l, newHost(p, quintet).handler(page, dist))
}
