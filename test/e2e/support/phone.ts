import { onTestFinished } from 'vitest'
import { openPackage } from '../../../src/cli/device/apple-package.ts'
import type { PassJson } from '../../../src/cli/device/apple-pass-json.ts'
import { findSaveJwt } from '../../../src/cli/device/http.ts'
import type { CleanUp } from '../../support/databases.ts'
import type { TestServer } from './server.ts'

/** Returns the server's directory entry of the APNs emulator. */
export async function findApns({ url }: Pick<TestServer, 'url'>): Promise<{ control: string; rootPem: string }> {
  const directory = (await (await fetch(`${url}/sandbox`)).json()) as { apple: { control: string; rootPem: string } }
  return directory.apple
}

/** Turns on these faults of the sandbox and turns off all others. */
export async function setFaults(server: Pick<TestServer, 'url'>, ...faults: string[]): Promise<void> {
  const { control } = await findApns(server)
  const answer = await post(`${control}/faults`, { faults })
  if (answer.status !== 200) throw new Error(await answer.text())
}

/** The requests of an iPhone. It stores nothing, so that a test sees each response. */
export interface TestPhone {
  deviceId: string
  pushToken: string
  register(server: Pick<TestServer, 'url'>): Promise<number>
  /** Resolves to the serial numbers that changed since the tag, and the new tag; undefined for status 204. */
  listChanged(
    server: Pick<TestServer, 'url'>,
    tag?: string,
  ): Promise<{ serialNumbers: string[]; lastUpdated: string } | undefined>
  /** Fetches the pass and checks it as iOS does. Resolves to `undefined` for 304. */
  fetch(
    server: Pick<TestServer, 'url'>,
    since?: string,
  ): Promise<{ content: PassJson; lastModified: string } | undefined>
}

/** Returns a phone with a push token of the sandbox. It has not installed the pass yet. */
export async function newPhone(server: TestServer, passId: string, deviceId: string): Promise<TestPhone> {
  const [phone] = await newPhones(server, passId, [deviceId])
  return phone!
}

export async function newPhones(server: TestServer, passId: string, deviceIds: string[]): Promise<TestPhone[]> {
  const preview = await server.client.passes.preview({ params: { id: passId }, query: { platform: 'apple' } })
  const content = (preview as unknown as { apple: PassJson }).apple
  const apns = await findApns(server)
  return Promise.all(
    deviceIds.map(async (deviceId) => {
      const answer = await post(`${apns.control}/tokens`, { topic: content.passTypeIdentifier })
      const { token } = (await answer.json()) as { token: string }
      return createPhone({ deviceId, pushToken: token, content, rootPem: apns.rootPem })
    }),
  )
}

function createPhone(facts: { deviceId: string; pushToken: string; content: PassJson; rootPem: string }): TestPhone {
  const { deviceId, pushToken, rootPem } = facts
  const { authenticationToken, passTypeIdentifier, serialNumber: passId } = facts.content
  const authorization = `ApplePass ${authenticationToken}`
  const devices = `/apple/v1/devices/${deviceId}/registrations/${passTypeIdentifier}`
  return {
    deviceId,
    pushToken,
    async register({ url }) {
      return (await post(`${url}${devices}/${passId}`, { pushToken }, { authorization })).status
    },
    async listChanged({ url }, tag = '') {
      const answer = await fetch(`${url}${devices}?passesUpdatedSince=${encodeURIComponent(tag)}`)
      if (answer.status === 204) return undefined
      if (answer.status !== 200) throw new Error(`What changed was answered with ${answer.status}`)
      return (await answer.json()) as { serialNumbers: string[]; lastUpdated: string }
    },
    async fetch({ url }, since) {
      const headers = { authorization, ...(since !== undefined && { 'if-modified-since': since }) }
      const answer = await fetch(`${url}/apple/v1/passes/${passTypeIdentifier}/${passId}`, { headers })
      if (answer.status === 304) return undefined
      if (answer.status !== 200) throw new Error(`The pass was answered with ${answer.status}`)
      const { content } = openPackage(Buffer.from(await answer.arrayBuffer()), rootPem, new Date())
      return { content, lastModified: answer.headers.get('last-modified')! }
    },
  }
}

/** Counts the pushes that a phone receives from now on. */
export async function listenForPushes(
  server: TestServer,
  { pushToken }: TestPhone,
  cleanUp: CleanUp = onTestFinished,
): Promise<{ count: () => number }> {
  const { control } = await findApns(server)
  const stop = new AbortController()
  cleanUp(() => stop.abort())
  const answer = await fetch(`${control}/tokens/${pushToken}/pushes`, { signal: stop.signal })
  let count = 0
  const listening = async () => {
    for await (const chunk of answer.body!) count += Buffer.from(chunk).toString().split('\n').length - 1
  }
  // Ignore the error, because the stream ends with the emulator or with the test.
  listening().catch(() => undefined)
  return { count: () => count }
}

/** A pass at Google as a phone sees it. */
export interface GoogleView {
  object: { id: string; textModulesData?: { body: string }[]; messages?: { id: string }[] }
  class: { id: string }
}

/** A pass that Android phones hold. */
export interface AndroidPass {
  look(): Promise<GoogleView>
  /** Removes the pass from all phones. */
  remove(): Promise<void>
}

/** Saves the pass of a hosted link, as Android phones do. */
export async function saveOnAndroid(
  { url }: Pick<TestServer, 'url'>,
  link: string,
  devices: readonly string[] = ['android'],
): Promise<AndroidPass> {
  const { google } = (await (await fetch(`${url}/sandbox`)).json()) as { google: { url: string } }
  const send = async (path: string, body: object) => {
    const answer = await post(`${google.url}${path}`, body)
    if (!answer.ok) throw new Error(`Google answered ${answer.status} to ${path}: ${await answer.text()}`)
    return answer
  }
  const jwt = await findSaveJwt(link)
  const saved = await Promise.all(devices.map((device) => send('/save', { jwt, device })))
  const { kind, object } = (await saved[0]!.json()) as { kind: string; object: { id: string } }
  return {
    look: async () => {
      const view = await fetch(`${google.url}/objects/${kind}/${encodeURIComponent(object.id)}`)
      return (await view.json()) as GoogleView
    },
    async remove() {
      for (const device of devices) await send('/remove', { kind, objectId: object.id, device })
    },
  }
}

function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  return fetch(url, { ...init, body: JSON.stringify(body) })
}
