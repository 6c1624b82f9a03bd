module github.com/quintet-dc/quintet/testdata/peers/collectors/node_exporter

go 1.26.8

require github.com/prometheus/node_exporter v1.12.1
