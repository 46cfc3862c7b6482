// Starts the image by Node's module: `node start.js CALL IMAGE`; ends with standard input.
const { KafkaContainer } = require("@testcontainers/kafka");

async function main() {
  const [call, image] = process.argv.slice(2);
  // Podman shows port 9092, which images of Kafka expose, and the module waits until it is mapped.
  let wanted = new KafkaContainer(image).withExposedPorts(9092, 9093);
  if (call === "withKraft") wanted = wanted.withKraft();
  const container = await wanted.start();
  console.log(`BOOTSTRAP ${container.getHost()}:${container.getMappedPort(9093)}`);
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.on("end", resolve));
  await container.stop();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
