import type { Faults } from '../faults.ts'
import type { DeviceToken } from './apns-tokens.ts'

/** What there is to know of one push. */
export interface Push {
  method: string
  path: string
  topic: string | undefined
  id: string | undefined
  /** Bytes of the payload. */
  size: number
  client: PushClient
}

/** Who opened the connection: `topic` is the pass type of a certificate that the sandbox trusts. */
export type PushClient =
  | { certificate: 'none' }
  | { certificate: 'bad' }
  | { certificate: 'good'; topic: string | undefined }

export type PushAnswer = { status: 200; token: string } | { status: number; reason: string; timestamp?: number }

const MAX_PAYLOAD_BYTES = 4096
const TOPIC = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** What APNs answers, in the order in which it looks: connection, address, headers, payload, token. */
export function answerPush(
  push: Push,
  facts: { find: (token: string) => DeviceToken | undefined; faults: Faults; at: Date },
): PushAnswer {
  const { client, topic } = push
  if (client.certificate === 'none') return { status: 403, reason: 'MissingProviderToken' }
  if (client.certificate === 'bad') return { status: 403, reason: 'BadCertificate' }
  const [, token] = /^\/3\/device\/([^/]+)$/.exec(push.path) ?? []
  if (token === undefined) return { status: 404, reason: 'BadPath' }
  if (push.method !== 'POST') return { status: 405, reason: 'MethodNotAllowed' }
  const fault = faultyAnswer(facts)
  if (fault) return fault
  if (push.id !== undefined && !UUID.test(push.id)) return { status: 400, reason: 'BadMessageId' }
  if (topic === undefined) return { status: 400, reason: 'MissingTopic' }
  if (!TOPIC.test(topic)) return { status: 400, reason: 'BadTopic' }
  if (topic !== client.topic) return { status: 400, reason: 'TopicDisallowed' }
  if (push.size === 0) return { status: 400, reason: 'PayloadEmpty' }
  if (push.size > MAX_PAYLOAD_BYTES) return { status: 413, reason: 'PayloadTooLarge' }
  const device = facts.find(token)
  if (!device) return { status: 400, reason: 'BadDeviceToken' }
  if (device.topic !== undefined && device.topic !== topic) return { status: 400, reason: 'DeviceTokenNotForTopic' }
  if (device.retiredAt !== undefined) return { status: 410, reason: 'Unregistered', timestamp: device.retiredAt }
  return { status: 200, token: device.token }
}

function faultyAnswer({ faults, at }: { faults: Faults; at: Date }): PushAnswer | undefined {
  if (faults.has('apns-410')) return { status: 410, reason: 'Unregistered', timestamp: at.getTime() }
  if (faults.has('apns-429')) return { status: 429, reason: 'TooManyRequests' }
  if (faults.has('apns-500')) return { status: 500, reason: 'InternalServerError' }
  if (faults.has('apns-503')) return { status: 503, reason: 'ServiceUnavailable' }
  return undefined
}
