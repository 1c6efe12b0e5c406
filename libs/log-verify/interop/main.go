// Checks proofs of the log with the code of Go's checksum database: note, inclusion and consistency.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type inclusion struct {
	Index int64
	Leaf  string
	Proof []tlog.Hash
}

type consistency struct {
	From  int64
	Root  tlog.Hash
	Proof []tlog.Hash
}

type fixture struct {
	Key         string
	Note        string
	Size        int64
	Root        tlog.Hash
	Inclusion   []inclusion
	Consistency []consistency
}

func main() {
	var given fixture
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		fail("the fixture cannot be read: %v", err)
	}
	verifier, err := note.NewVerifier(given.Key)
	if err != nil {
		fail("the key: %v", err)
	}
	if _, err := note.Open([]byte(given.Note), note.VerifierList(verifier)); err != nil {
		fail("the checkpoint: %v", err)
	}
	for _, one := range given.Inclusion {
		leaf := tlog.RecordHash([]byte(one.Leaf))
		if err := tlog.CheckRecord(one.Proof, given.Size, given.Root, one.Index, leaf); err != nil {
			fail("inclusion of %d: %v", one.Index, err)
		}
	}
	for _, one := range given.Consistency {
		if err := tlog.CheckTree(one.Proof, given.Size, given.Root, one.From, one.Root); err != nil {
			fail("consistency from %d: %v", one.From, err)
		}
	}
	fmt.Printf("%d inclusion and %d consistency proofs\n", len(given.Inclusion), len(given.Consistency))
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}
