module github.com/quintet-dc/quintet/testdata/peers/collectors/telegraf

go 1.26.8

require github.com/influxdata/telegraf v1.37.2
