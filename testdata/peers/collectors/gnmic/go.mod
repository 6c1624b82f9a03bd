module github.com/quintet-dc/quintet/testdata/peers/collectors/gnmic

go 1.26.8

require github.com/openconfig/gnmic v0.47.0
