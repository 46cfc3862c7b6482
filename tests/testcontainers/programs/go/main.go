// Starts the image by Go's module: `start CALL IMAGE`; ends with standard input.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/kafka"
)

func main() {
	ctx := context.Background()
	image := os.Args[2]
	options := []testcontainers.ContainerCustomizer{}
	if os.Args[1] == "WithClusterID" {
		options = append(options, kafka.WithClusterID("4L6g3nShT-eMCtK--X86sw"))
	}
	container, err := kafka.Run(ctx, image, options...)
	if err != nil {
		log.Fatal(err)
	}
	brokers, err := container.Brokers(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("BOOTSTRAP", strings.Join(brokers, ","))
	io.ReadAll(os.Stdin)
	if err := testcontainers.TerminateContainer(container); err != nil {
		log.Fatal(err)
	}
}
