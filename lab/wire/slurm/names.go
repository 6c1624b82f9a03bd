package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// spans writes rising numbers as "0-3,6".
func spans(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i == j {
			out = append(out, strconv.Itoa(list[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}

// compress writes a list of hosts as Slurm does: neighbours of one stem and
// width, whose numbers follow one another, stand in brackets.
func compress(names []string) string {
	var out []string
	for i := 0; i < len(names); {
		stem, first, ok := split(names[i])
		j := i
		for ok && j+1 < len(names) {
			s, n, more := split(names[j+1])
			if !more || s != stem || len(names[j+1]) != len(names[i]) || n != first+j+1-i {
				break
			}
			j++
		}
		if i == j {
			out = append(out, names[i])
		} else {
			out = append(out, fmt.Sprintf("%s[%s-%s]", stem, names[i][len(stem):], names[j][len(stem):]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}

// split cuts a name before the digits that end it.
func split(name string) (stem string, n int, ok bool) {
	i := len(strings.TrimRight(name, "0123456789"))
	n, err := strconv.Atoi(name[i:])
	return name[:i], n, err == nil
}
