/**
 * Attacks a server as a hostile tenant and as clients without a token. `attacks` is the table of attacks. The only
 * argument is the victim, as JSON. The program runs until its input ends, and then prints the number of requests and
 * responses of each attack as JSON.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import sharp from 'sharp'
import { Agent, request } from 'undici'
import { unzip } from '../../src/cli/device/apple-package.ts'
import type { DefinitionInput } from '../../src/core/contract/schemas/definition.ts'

export interface Victim {
  url: string
  /** The token of the hostile tenant. */
  token: string
}

/** The number of requests, and of responses by status, of each attack. */
export type Damage = Record<string, { sent: number; answers: Record<string, number> }>

/** Connections that each of the attacks on sockets holds. */
const SOCKETS = 20

/** The address of clients without a token. It differs from that of the tenants, as on the internet. */
const STRANGE_ADDRESS = '127.0.0.2'

/** The number of webhook endpoints that accept a request and never respond: the maximum per workspace. */
const HANGING_ENDPOINTS = 50

/** The maximum number of passes of a device, so that each of its lists has the maximum length. */
const DEVICE_PASSES = 300

/** The number of void passes before the only pass that the page of their group shows. */
const GROUP_MEMBERS = 10_000

const { url, token } = JSON.parse(process.argv[2]!) as Victim
const { hostname, port } = new URL(url)
const dispatcher = new Agent({ connections: 256, headersTimeout: 60_000 })
const strangers = new Agent({ connections: 64, headersTimeout: 60_000, connect: { localAddress: STRANGE_ADDRESS } })
const damage: Damage = {}
let isOver = false

/** Runs an attack until the end, with several workers that each send one request after another. */
function again(name: string, workers: number, attack: (send: Send) => Promise<void>): Promise<unknown> {
  const noted = { sent: 0, answers: {} as Record<string, number> }
  damage[name] = noted
  const note = (answer: string) => {
    noted.answers[answer] = (noted.answers[answer] ?? 0) + 1
  }
  const send: Send = async (method, path, body, headers = {}, via = dispatcher) => {
    noted.sent += 1
    try {
      const response = await request(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(typeof body === 'string' && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body ?? null,
        dispatcher: via,
      })
      const text = await response.body.text()
      note(String(response.statusCode))
      // Wait, because immediate retries would overload this process instead.
      if (response.statusCode === 429) await sleep(50)
      return response.statusCode < 300 && text.startsWith('{') ? JSON.parse(text) : undefined
    } catch (error) {
      note((error as { code?: string }).code ?? 'lost')
      await sleep(50)
      return undefined
    }
  }
  return Promise.all(
    Array.from({ length: workers }, async () => {
      while (!isOver) await attack(send)
    }),
  )
}

type Send = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: string | Uint8Array,
  headers?: Record<string, string>,
  via?: Agent,
) => Promise<
  | { id: string; items?: { id: string }[]; hostedLinks?: { apple: string; smart: string; group: string | null } }
  | undefined
>

function definition(message: string, variable: object = {}): DefinitionInput {
  return {
    variables: [{ name: 'a', label: 'A', ...variable }],
    design: {
      organizationName: 'Hostile',
      description: 'Hostile',
      fields: { back: [{ key: 'a', label: 'A', value: message }] },
      barcode: { format: 'qr', message: '{{pass.scanCode}}' },
    },
  } as unknown as DefinitionInput
}

/**
 * Returns a definition just below each limit of the work to render: 20 languages, 50 fields, a long code, and overrides
 * for both platforms.
 */
function mostWork(): DefinitionInput {
  const languages = 'en pt es fr de it nl pl sv da fi cs hu ro tr el uk ja ko ar'.split(' ')
  const inEach = (text: string) => Object.fromEntries(languages.map((language) => [language, `${language} ${text}`]))
  const back = [...Array(50).keys()].map((n) => ({
    key: `k${n}`,
    label: inEach(`${n} ${'x'.repeat(80)}`),
    value: inEach(`${n}${'{{a}}'.repeat(4)}`),
  }))
  const { design, ...parts } = definition('', { maxLength: 1, default: 'a' })
  return {
    ...parts,
    languages: { default: 'en', others: languages.slice(1) },
    design: { ...design, fields: { back }, barcode: { format: 'qr', message: `{{pass.scanCode}} ${'x'.repeat(900)}` } },
    apple: { userInfo: { list: [...Array(1_980).keys()].map((n) => n % 10) } },
    google: {
      object: { textModulesData: [...Array(280).keys()].map((n) => ({ id: `t${n}`, header: 'H', body: 'B' })) },
    },
  } as DefinitionInput
}

async function publish(send: Send, content: DefinitionInput): Promise<string> {
  for (;;) {
    const body = JSON.stringify({ name: 'Hostile', passType: 'generic' })
    const template = await send('POST', '/v1/templates', body)
    const version =
      template && (await send('POST', `/v1/templates/${template.id}/versions`, JSON.stringify({ definition: content })))
    const published = version && (await send('POST', `/v1/template-versions/${version.id}/publish`))
    if (published || isOver) return template?.id ?? ''
  }
}

/** Returns the address of an endpoint that accepts requests and never responds. */
async function hangingEndpoint(): Promise<string> {
  const server = createServer(() => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hang`
}

/** Returns the names that a phone reads in a package; undefined if it does not get one. */
async function readPackage(link: string): Promise<Record<string, string> | undefined> {
  const response = await request(`${url}${new URL(link).pathname}`, { dispatcher }).catch(() => undefined)
  const bytes = await response?.body.arrayBuffer().catch(() => undefined)
  if (response?.statusCode !== 200 || !bytes) return undefined
  return JSON.parse(unzip(Buffer.from(bytes)).get('pass.json')!.toString())
}

async function jpegWithManyScans(): Promise<Uint8Array> {
  const jpeg = await sharp({ create: { width: 1_000, height: 1_000, channels: 3, background: '#123456' } })
    .jpeg({ progressive: true })
    .toBuffer()
  // Repeat the last scan of the image thousands of times.
  const start = jpeg.lastIndexOf(Buffer.from([0xff, 0xda]))
  const scan = jpeg.subarray(start, jpeg.length - 2)
  return Buffer.concat([jpeg.subarray(0, -2), ...Array(4_000).fill(scan), Buffer.from([0xff, 0xd9])])
}

const key = () => randomUUID()
const item = (templateId: string, variables: object = {}) => ({
  externalPassId: key(),
  label: 'Hostile',
  templateId,
  variables,
})

/** The attacks, each named after the resource that it tries to exhaust. */
const attacks: Record<string, () => Promise<unknown>> = {
  async renders() {
    const large = definition('{{a}}'.repeat(400))
    return again('renders', 2, async (send) => {
      const body = JSON.stringify({ name: 'Hostile', passType: 'generic' })
      const template = await send('POST', '/v1/templates', body)
      if (!template) return
      const draft = JSON.stringify({ definition: large })
      const version = await send('POST', `/v1/templates/${template.id}/versions`, draft)
      if (version) await send('POST', `/v1/template-versions/${version.id}/publish`)
      const pass = await send('POST', '/v1/passes', JSON.stringify(item(template.id, { a: 'x'.repeat(60_000) })))
      if (pass?.hostedLinks) await send('GET', new URL(pass.hostedLinks.apple).pathname)
      await send('DELETE', `/v1/templates/${template.id}`)
    })
  },
  async patterns() {
    let templateId: string | undefined
    return again('patterns', 2, async (send) => {
      templateId ??= await publish(send, definition('{{a}}', { format: 'url' }))
      const value = `http://${'a'.repeat(3_000)}\u00a0`
      await send(
        'POST',
        '/v1/passes/batch',
        JSON.stringify({ passes: [...Array(100)].map(() => item(templateId!, { a: value })) }),
      )
    })
  },
  async images() {
    const jpeg = await jpegWithManyScans()
    return again('images', 4, async (send) => {
      await send('POST', '/v1/images', jpeg, { 'content-type': 'image/jpeg' })
    })
  },
  async lists() {
    const letters = [...'abcdefghijklmnopqrstuvwxyz']
    let n = 0
    return again('lists', 8, async (send) => {
      n += 1
      const search = letters.slice(n % 20, (n % 20) + 5).map((letter) => `search=${letter}${letter}`)
      const labels = letters.slice(0, 20).map((letter) => `label=${letter}`)
      await send(
        'GET',
        `/v1/passes?${[...search, ...labels].join('&')}&labelMatch=prefix&sortBy=templateName&offset=9000`,
      )
    })
  },
  async endpoints() {
    const endpoint = await hangingEndpoint()
    let made = 0
    let templateId: string | undefined
    return again('endpoints', 2, async (send) => {
      if (made < HANGING_ENDPOINTS) {
        made += 1
        const events = ['pass.issued', 'pass.voided']
        await send('POST', '/v1/webhooks', JSON.stringify({ url: `${endpoint}/${made}`, events }))
        return
      }
      templateId ??= await publish(send, definition('{{a}}'))
      const pass = await send('POST', '/v1/passes', JSON.stringify(item(templateId)))
      if (pass) await send('POST', `/v1/passes/${pass.id}/void`)
    })
  },
  async queue() {
    let templateId: string | undefined
    return again('queue', 4, async (send) => {
      templateId ??= await publish(send, definition('{{a}}'))
      const passes = [...Array(100)].map(() => item(templateId!, { a: 'x' }))
      await send('POST', '/v1/passes/batch', JSON.stringify({ passes }))
    })
  },
  async placeholders() {
    const body = JSON.stringify({ definition: mostWork() })
    let templateId: string | undefined
    return again('placeholders', 2, async (send) => {
      templateId ??= await publish(send, mostWork())
      const version = await send('POST', `/v1/templates/${templateId}/versions`, body)
      if (version) {
        await send('GET', `/v1/template-versions/${version.id}/preview`)
        await send('DELETE', `/v1/template-versions/${version.id}`)
      }
      const passes = [...Array(20)].map(() => item(templateId!))
      await send('POST', '/v1/passes/batch', JSON.stringify({ passes }))
      const pass = await send('POST', '/v1/passes', JSON.stringify(item(templateId)))
      if (pass?.hostedLinks) await send('GET', new URL(pass.hostedLinks.smart).pathname)
    })
  },
  async cursors() {
    return again('cursors', 1, async (send) => {
      const cursor = Buffer.from(JSON.stringify({ n: Math.random(), x: 'x'.repeat(100) })).toString('base64url')
      await send('GET', `/v1/passes?cursor=${cursor}`)
    })
  },
  async devices() {
    let templateId: string | undefined
    let made = 0
    let passType: string | undefined
    return again('devices', 16, async (send) => {
      if (made < DEVICE_PASSES) {
        made += 1
        templateId ??= await publish(send, definition('{{a}}'))
        const pass = await send('POST', '/v1/passes', JSON.stringify(item(templateId)))
        const names = pass?.hostedLinks && (await readPackage(pass.hostedLinks.apple))
        if (!names) return
        const { passTypeIdentifier, serialNumber, authenticationToken } = names
        const path = `/apple/v1/devices/crowded/registrations/${passTypeIdentifier}/${serialNumber}`
        const authorization = `ApplePass ${authenticationToken}`
        await send('POST', path, JSON.stringify({ pushToken: 'abc' }), { authorization })
        passType = passTypeIdentifier
        return
      }
      await send('GET', `/apple/v1/devices/crowded/registrations/${passType}`, undefined, {}, strangers)
    })
  },
  async groups() {
    let templateId: string | undefined
    let imported = 0
    let page: string | undefined
    return again('groups', 16, async (send) => {
      templateId ??= await publish(send, definition('{{a}}'))
      if (imported < GROUP_MEMBERS) {
        imported += 100
        const passes = [...Array(100)].map(() => ({
          externalPassId: key(),
          label: 'Hostile',
          groupKey: 'crowd',
          status: 'VOID',
        }))
        await send('POST', '/v1/passes/import', JSON.stringify({ templateId, passes }))
        return
      }
      if (page === undefined) {
        const pass = await send('POST', '/v1/passes', JSON.stringify({ ...item(templateId), groupKey: 'crowd' }))
        if (pass?.hostedLinks?.group) page = new URL(pass.hostedLinks.group).pathname
        return
      }
      await send('GET', page, undefined, {}, strangers)
    })
  },
  pipelines: () => onSockets('pipelines', 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(600), true),
  unread: () => onSockets('unread', 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(600), false),
  bodies: () => onSockets('bodies', 'POST /v1/scans HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{', true),
}

/** Opens sockets that send a text, and optionally read the response. Opens a socket again when it is closed. */
async function onSockets(name: string, text: string, reads: boolean): Promise<void> {
  const noted = { sent: 0, answers: {} as Record<string, number> }
  damage[name] = noted
  await Promise.all(
    Array.from({ length: SOCKETS }, async () => {
      while (!isOver) {
        const socket: Socket = connect({ port: Number(port), host: hostname, localAddress: STRANGE_ADDRESS })
        sockets.add(socket)
        noted.sent += 1
        socket.on('error', () => undefined)
        socket.write(text)
        if (reads) socket.resume()
        await once(socket, 'close').catch(() => undefined)
        sockets.delete(socket)
        noted.answers.closed = (noted.answers.closed ?? 0) + 1
        await sleep(20)
      }
    }),
  )
}

const sockets = new Set<Socket>()
process.stdin.resume().on('end', () => {
  isOver = true
  for (const socket of sockets) socket.destroy()
})
await Promise.all(Object.values(attacks).map((attack) => attack()))
process.stdout.write(JSON.stringify(damage))
process.exit(0)
