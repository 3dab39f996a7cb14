import { connect } from 'node:http2'
import { timeAll } from './rounds.ts'

/** An APNs server, and the certificate of its client. */
export interface PushTarget {
  address: string
  port: number
  passTypeIdentifier: string
  rootPem: string
  certificatePem: string
  keyPem: string
}

/** The number of streams that the APNs client of the server opens at once. */
const IN_FLIGHT = 1_000

/** Pushes to each token once, over one connection. Returns the seconds that this took. */
export async function pushRaw(apns: PushTarget, tokens: readonly string[]): Promise<number> {
  const session = connect(`https://${apns.address}:${apns.port}`, {
    ca: apns.rootPem,
    cert: apns.certificatePem,
    key: apns.keyPem,
    peerMaxConcurrentStreams: IN_FLIGHT,
  })
  const send = (token: string) =>
    new Promise<void>((resolve, reject) => {
      const headers = { ':method': 'POST', ':path': `/3/device/${token}`, 'apns-topic': apns.passTypeIdentifier }
      const stream = session.request(headers)
      stream.on('response', ({ ':status': status }) => {
        if (status !== 200) reject(new Error(`APNs returned ${status}`))
      })
      stream.on('error', reject)
      stream.on('end', resolve)
      stream.resume()
      stream.end('{ }')
    })
  const seconds = await timeAll(
    tokens.map((token) => () => send(token)),
    IN_FLIGHT,
  )
  session.close()
  return seconds
}
