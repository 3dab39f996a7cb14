import { connect } from 'node:http2'
import { timeAll } from './rounds.ts'

/** An APNs, and what shows who pushes to it. */
export interface PushTarget {
  address: string
  port: number
  passTypeIdentifier: string
  rootPem: string
  certificatePem: string
  keyPem: string
}

/** As many streams as the library opens at once. */
const IN_FLIGHT = 1_000

/** Seconds for one push to each token over one connection. */
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
