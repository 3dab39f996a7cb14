import { Notification, Provider } from 'apn'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import { sandboxChain } from '../../support/chains.ts'
import { type Apns, startApns, topic } from './apns-support.ts'

let chain: SandboxApple
beforeAll(async () => {
  chain = await sandboxChain({ passTypeIdentifier: topic, teamIdentifier: 'SANDBOX123' })
})

/** The space matters: for exactly {}, the library sends no body. */
class PassChanged extends Notification {
  compile(): string {
    return '{ }'
  }
}

class EmptyBody extends Notification {
  compile(): string {
    return '{}'
  }
}

function provider(apns: Apns): Provider {
  const made = new Provider({
    cert: chain.certificatePem,
    key: chain.keyPem,
    ca: [chain.rootPem],
    address: apns.address,
    port: apns.port,
    production: false,
  })
  onTestFinished(async () => {
    await made.shutdown()
  })
  return made
}

test('the apn package pushes to a thousand phones, and reports each unregistered one', async () => {
  const apns = await startApns(chain)
  const tokens = Array.from({ length: 1_000 }, () => apns.newDeviceToken())
  apns.retireDeviceToken(tokens[7]!)
  const notification = new PassChanged()
  notification.topic = topic
  const { sent, failed } = await provider(apns).send(notification, [...tokens, 'a'.repeat(63)])
  expect(sent).toHaveLength(999)
  expect(failed).toHaveLength(2)
  expect(failed).toContainEqual(
    expect.objectContaining({
      device: tokens[7],
      status: 410,
      response: expect.objectContaining({ reason: 'Unregistered' }),
    }),
  )
  expect(failed).toContainEqual(
    expect.objectContaining({ device: 'a'.repeat(63), status: 400, response: { reason: 'BadDeviceToken' } }),
  )
})

test('the apn package sends a payload of {} without a body, which APNs rejects', async () => {
  const apns = await startApns(chain)
  const notification = new EmptyBody()
  notification.topic = topic
  const { failed } = await provider(apns).send(notification, apns.newDeviceToken())
  expect(failed).toMatchObject([{ status: 400, response: { reason: 'PayloadEmpty' } }])
})
