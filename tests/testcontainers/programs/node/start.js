// Starts the image by Node's module: `node start.js CALL IMAGE`; ends with standard input. With
// `withSaslSslListener` the variable KEYSTORE is a file in PKCS12, its password that of Ottla's.
const fs = require("fs");
const { KafkaContainer } = require("@testcontainers/kafka");

const SECURE_PORT = 9096;

async function main() {
  const [call, image] = process.argv.slice(2);
  // Podman shows port 9092, which images of Kafka expose, and the module waits until it is mapped.
  let wanted = new KafkaContainer(image).withExposedPorts(9092, 9093);
  const isSecure = call === "withSaslSslListener";
  if (call === "withKraft" || isSecure) wanted = wanted.withKraft();
  if (isSecure) {
    wanted = wanted.withSaslSslListener({
      port: SECURE_PORT,
      sasl: { mechanism: "SCRAM-SHA-512", user: { name: "alice", password: "alice-secret" } },
      keystore: { content: fs.readFileSync(process.env.KEYSTORE), passphrase: "changeit" },
    });
  }
  const container = await wanted.start();
  if (isSecure) console.log(`SECURE ${container.getHost()}:${container.getMappedPort(SECURE_PORT)}`);
  console.log(`BOOTSTRAP ${container.getHost()}:${container.getMappedPort(9093)}`);
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.on("end", resolve));
  await container.stop();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
