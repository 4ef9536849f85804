package localetcd

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestWhatItWasToldIsThereAfterARestart(t *testing.T) {
	dir := t.TempDir()
	begun := time.Now()
	s, err := Start(dir, "127.0.0.1:0", TLS{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %s", time.Since(begun))
	at := s.Addr()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{at}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Put(t.Context(), "a", "1"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if s, err = Start(dir, at, TLS{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := client.Get(t.Context(), "a")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "1" {
		t.Fatalf("after a restart: %v, %v", got, err)
	}
}

func TestItListensOnLoopbackOnly(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:2379", ":2379", "192.0.2.1:2379", "localhost"} {
		if s, err := Start(t.TempDir(), listen, TLS{}); err == nil {
			s.Close()
			t.Errorf("it listened on %q", listen)
		}
	}
}
