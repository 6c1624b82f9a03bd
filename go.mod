module github.com/quintet-dc/quintet

go 1.26.8
