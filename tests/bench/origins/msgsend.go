// Many senders and one receiver in Go, for `cargo bench --bench origins`. Reads lines with an origin, the number of senders, how many
// numbers each sends, and the name of this case, and answers each with the sum of what arrived and the nanoseconds that it took.
package main

import (
	"fmt"
	"sync"
	"time"
)

const slots = 1024

// Each sender sends its numbers and ends; the receiver receives until all have ended.
func msgsend(senders int, count uint64) uint64 {
	numbers := make(chan uint64, slots)
	var open sync.WaitGroup
	open.Add(senders)
	for range senders {
		go func() {
			defer open.Done()
			for n := range count {
				numbers <- n
			}
		}()
	}
	go func() {
		open.Wait()
		close(numbers)
	}()
	var sum uint64
	for n := range numbers {
		sum += n
	}
	return sum
}

func main() {
	var origin, name string
	var senders int
	var count uint64
	for {
		if _, err := fmt.Scanln(&origin, &senders, &count, &name); err != nil {
			return
		}
		start := time.Now()
		sum := msgsend(senders, count)
		fmt.Println(sum, time.Since(start).Nanoseconds())
	}
}
