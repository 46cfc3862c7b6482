// kafkajs on one listener. The arguments are the fields of a job (job.py); the output is a line.
const fs = require('fs')
const { Kafka, logLevel } = require('kafkajs')

const VALUES = 20
const ANSWER_MS = 20_000
const THRESHOLD_MS = 500 // a connection authenticates again so long before its session ends

const [bootstrap, , mechanism, username, password, authority, key, topic, seconds, given] =
  process.argv.slice(2)

// Those of ottla.testing are fields of kafkajs; a token needs a function.
function settings() {
  if (!given) return settingsOfJob()
  const found = { clientId: 'kafkajs', logLevel: logLevel.NOTHING, ...JSON.parse(given) }
  const value = found.sasl?.token
  if (value) found.sasl = { mechanism: found.sasl.mechanism, oauthBearerProvider: async () => ({ value }) }
  return found
}

function settingsOfJob() {
  const found = { clientId: 'kafkajs', brokers: [bootstrap], logLevel: logLevel.NOTHING }
  found.reauthenticationThreshold = THRESHOLD_MS
  if (authority) {
    found.ssl = { ca: [fs.readFileSync(authority)] }
    if (key) Object.assign(found.ssl, { cert: fs.readFileSync(key), key: fs.readFileSync(key) })
  }
  if (mechanism === 'OAUTHBEARER') {
    const oauthBearerProvider = async () => ({ value: token() })
    found.sasl = { mechanism: 'oauthbearer', oauthBearerProvider }
  } else if (mechanism) {
    found.sasl = { mechanism: mechanism.toLowerCase(), username, password }
  }
  return found
}

// An unsecured one.
function token() {
  const now = Math.floor(Date.now() / 1000)
  const encode = part => Buffer.from(JSON.stringify(part)).toString('base64url')
  return `${encode({ alg: 'none' })}.${encode({ sub: username, iat: now, exp: now + 3600 })}.`
}

// Values are read once each, in order, beside one record of a transaction.
class Numbers {
  constructor() {
    this.count = 0
    this.committed = false
    this.failure = null
  }

  take(value) {
    const isTransaction = value === 'committed' && !this.committed
    if (isTransaction) this.committed = true
    else if (value === String(this.count)) this.count += 1
    else this.failure ??= new Error(`read ${value} instead of ${this.count}`)
  }
}

async function read(consumer, numbers) {
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const eachMessage = async ({ message }) => numbers.take(message.value.toString())
  await consumer.run({ eachMessage })
}

async function write(producer) {
  await producer.connect()
  const ends = Date.now() + Number(seconds) * 1000
  let count = 0
  while (count < VALUES || Date.now() < ends) {
    await producer.send({ topic, acks: -1, messages: [{ value: String(count) }] })
    count += 1
  }
  return count
}

async function transactions(kafka) {
  const options = { transactionalId: topic, idempotent: true, maxInFlightRequests: 1 }
  const producer = kafka.producer(options)
  await producer.connect()
  for (const value of ['aborted', 'committed']) {
    const transaction = await producer.transaction()
    await transaction.send({ topic, messages: [{ value }] })
    await (value === 'aborted' ? transaction.abort() : transaction.commit())
  }
  await producer.disconnect()
}

async function run() {
  const kafka = new Kafka(settings())
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  const consumer = kafka.consumer({ groupId: topic, maxWaitTimeInMs: 100 })
  const numbers = new Numbers()
  await read(consumer, numbers)
  const sent = await write(producer)
  await transactions(kafka)
  const ends = Date.now() + ANSWER_MS
  while (!(numbers.count === sent && numbers.committed)) {
    if (numbers.failure) throw numbers.failure
    if (Date.now() > ends) throw new Error(`read ${numbers.count} of ${sent}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  await producer.disconnect()
  await consumer.disconnect()
  console.log(`${sent} sent, ${numbers.count} read, with transactions`)
}

run().catch(error => {
  console.error(String(error))
  process.exit(1)
})
