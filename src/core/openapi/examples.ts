import type { Contract } from '../contract/contract.ts'
import type { ErrorCode } from '../errors.ts'
import type { Route, RouteCall } from '../route.ts'
import { shellQuote } from '../shell-quote.ts'

type BodyOf<R> = R extends Route ? (RouteCall<R> extends { body?: infer B } ? B : never) : never

type Examples = { [R in keyof Contract]?: { [O in keyof Contract[R]]?: BodyOf<Contract[R][O]> } }

const templateId = '01985f0c-7a10-7c3e-9d61-2f5b8e4a7c01'
const passId = '01985f0c-7b22-7f05-8a4e-6c1d9b3e5f02'
const projectId = '01985f0c-7a08-7d11-8c52-3b6e9f0a1d05'

const ticket = {
  externalPassId: 'order-1815-1',
  label: 'Ada Lovelace',
  templateId,
  variables: { ticketType: 'Speaker', seat: 'A-17' },
}

const takenOver = {
  externalPassId: 'member-1852',
  label: 'Grace Hopper',
  variables: { seat: 'C-3' },
  serialNumber: 'M-1852',
  authenticationToken: 'vxwxd7J8AlNNFPS8k0a0FfUFtq0ewzFdc',
  scanPayload: '9780201379624',
}

const message = {
  body: 'Doors open at 8:30, keynote at 10.',
  sendAt: '2027-05-20T06:00:00Z',
  idempotencyKey: 'doors-open-day-1',
}

/** A valid request of each endpoint, for the API reference. */
export const examples: Examples = {
  projects: {
    create: { name: 'Polyglot 2027', description: 'The conference in Lisbon', color: 'blue' },
    update: { name: 'Polyglot 2027, Lisbon' },
  },
  templates: {
    create: { name: 'Conference ticket', passType: 'eventTicket' },
    createVersion: {
      definition: {
        variables: [{ name: 'seat', label: 'Seat', required: true }],
        design: {
          organizationName: 'Polyglot',
          description: 'Conference ticket',
          fields: { primary: [{ key: 'seat', label: 'Seat', value: '{{seat}}' }] },
          barcode: { format: 'qr', message: '{{pass.id}}' },
        },
        redemption: { maxUses: 1 },
      },
    },
  },
  upgrades: { create: { to: 'latest', limit: 100 } },
  joinPages: {
    set: {
      slug: 'polyglot-2027',
      title: 'Join Polyglot 2027',
      fields: [{ variable: 'seat', label: 'Your seat' }],
      labelFrom: ['Seat {{seat}}'],
      consent: { text: 'I agree to the terms of the conference.', version: '2027-01', required: true },
    },
  },
  passes: {
    create: ticket,
    createBatch: { passes: [ticket, { ...ticket, externalPassId: 'order-1815-2', label: 'Charles Babbage' }] },
    import: { templateId, passes: [takenOver] },
    update: { variables: { seat: 'B-2', gate: null } },
    transfer: { label: 'Charles Babbage', variables: { seat: 'A-17' } },
    void: { reason: 'refunded' },
  },
  balances: {
    createEntry: { delta: 10, externalRef: 'order-1815', reason: 'Breakfast' },
    reverseEntry: { reason: 'Order canceled' },
  },
  wallets: { nudge: { silentFor: 3600, limit: 1000 } },
  notifications: { create: message },
  broadcasts: { create: message },
  webhooks: { create: { url: 'https://tickets.example.com/hooks', events: ['pass.issued', 'pass.scanned'] } },
  scans: {
    create: {
      qrPayload: passId,
      scanContextKey: '2027-05-20',
      externalRef: 'gate-1-000042',
      deviceId: 'gate-1',
      context: { gate: 'North' },
    },
    replay: { projectId, policy: { maxUses: 2 }, from: '2027-05-20T00:00:00Z', to: '2027-05-20T20:00:00Z' },
    reverse: { reason: 'scanned by mistake' },
  },
  scanner: {
    report: {
      scans: [
        {
          externalRef: 'gate-1-000043',
          passId,
          scannedAt: '2027-05-20T07:31:05Z',
          result: 'accepted',
          reason: 'valid',
          deviceId: 'gate-1',
        },
      ],
    },
  },
  doors: {
    invite: { projectId, gate: 'North', uses: 20, expiresAt: '2027-05-20T20:00:00Z' },
    claim: { code: 'D4KMR6QXW2VTBHZJ3NP5SAYGEC', name: 'Anna’s phone' },
    update: { gate: 'South' },
  },
  zones: {
    create: { projectId, name: 'Hall', capacity: 500, whenFull: 'deny' },
    update: { capacity: 450 },
    reset: { reason: 'End of day 1' },
    adjust: { delta: -1, reason: 'Left by the back door', externalRef: 'back-door-17' },
  },
}

export const errorDetails: Partial<Record<ErrorCode, Record<string, unknown>>> = {
  VALIDATION_ERROR: { issues: [{ path: ['label'], message: 'Must have 1 to 255 characters' }] },
  FORBIDDEN: { scope: 'passes:write' },
  CONFLICT: { limit: 'webhooks', allowed: 50, used: 50 },
  TOO_MANY_REQUESTS: { limit: 'requestsInFlight', allowed: 256, used: 256 },
  PASS_NOT_FOUND: { passId },
  PASS_ALREADY_VOIDED: { passId },
  TEMPLATE_NOT_FOUND: { templateId },
  WEBHOOK_NOT_FOUND: { webhookId: '01985f0c-7c31-7a18-b2f4-5d6e7f809103' },
  PRECONDITION_FAILED: { revision: 8 },
  DUPLICATE_PASS: { passId },
  PASS_NOT_ISSUED: { passId, status: 'VOID' },
  TEMPLATE_VERSION_NOT_NEWER: { templateVersion: 3 },
  SCANNER_SNAPSHOT_STALE: { snapshotId: '01985f0c-7e52-7b06-9c1d-0a1b2c3d4e04' },
  PASS_NOTIFICATION_RATE_LIMITED: { passId, retryAfterSeconds: 5400 },
  GOOGLE_API_FAILED: { permanent: true },
}

/** A recorded request to an endpoint, from which code samples are made. */
export interface SampleRequest {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
}

interface CodeSample {
  lang: string
  label: string
  source: string
}

/** The ID in a code sample if no ID was recorded. */
export const SAMPLE_ID = '01985f0c-7a10-7000-8000-000000000001'

export function codeSamples(operationId: string, route: Route, request: SampleRequest, command: string): CodeSample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curl(route, request) },
    { lang: 'Shell', label: 'passes', source: `passes ${command}` },
    { lang: 'JavaScript', label: 'client', source: client(operationId, route, request) },
  ]
}

function curl(route: Route, request: SampleRequest): string {
  const { method, rawBody, eventStream } = route
  const address = `"$PASSES_URL${path(route, request)}"`
  const lines = [
    `curl ${eventStream ? '--no-buffer ' : ''}${method === 'GET' ? '' : `--request ${method} `}${address}`,
    ...(route.isPublic ? [] : [`--header "Authorization: Bearer $PASSES_TOKEN"`]),
  ]
  if (rawBody) lines.push(`--header "Content-Type: ${rawBody.contentTypes[0]}"`, '--data-binary @logo.png')
  else if (request.body !== undefined) {
    lines.push(
      '--header "Content-Type: application/json"',
      `--data ${shellQuote(JSON.stringify(request.body, null, 2))}`,
    )
  }
  return lines.join(' \\\n  ')
}

function path(route: Route, { params = {}, query = {} }: SampleRequest): string {
  const filled = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? SAMPLE_ID)
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, String(one)]),
    ),
  )
  return search.size > 0 ? `${filled}?${search}` : filled
}

function client(operationId: string, route: Route, { params, query, body }: SampleRequest): string {
  const ids = route.params && { params: params ?? { id: SAMPLE_ID } }
  const call = { ...ids, ...(query && { query }), ...(body !== undefined && { body }) }
  const given = Object.keys(call).length > 0 ? asCode(call) : ''
  if (route.rawBody) {
    const contentType = route.rawBody.contentTypes[0]!
    return `await client.${operationId}({ body: await readFile('logo.png'), contentType: '${contentType}' })`
  }
  if (!route.eventStream) return `await client.${operationId}(${given})`
  return `for await (const event of client.${operationId}(${given})) console.log(event)`
}

function asCode(value: object): string {
  return JSON.stringify(value, null, 2).replaceAll(/^( *)"([A-Za-z_]\w*)":/gm, '$1$2:')
}

type Operation = { [R in keyof Contract]: `${R}.${keyof Contract[R] & string}` }[keyof Contract]

export const commandSamples: Record<Operation, string> = {
  'projects.list': 'project list',
  'projects.create': 'project create --name "Polyglot 2027" --color blue',
  'projects.get': 'project get "Polyglot 2027"',
  'projects.update': 'project update "Polyglot 2027" --name "Polyglot 2027, Lisbon"',
  'projects.delete': 'project delete "Polyglot 2027" --yes',
  'projects.stats': 'project stats "Polyglot 2027"',
  'projects.figures': 'project figures "Polyglot 2027" --by day --from 30d',
  'templates.list': 'template list',
  'templates.create': 'template create --name "Conference ticket" --pass-type eventTicket',
  'templates.get': 'template get conference-ticket',
  'templates.update': 'template update conference-ticket --description "For everybody with a seat"',
  'templates.delete': 'template delete conference-ticket --yes',
  'templates.createVersion': 'template push template.json',
  'templates.variablesSchema': 'template schema conference-ticket',
  'templateVersions.list': 'template versions conference-ticket',
  'templateVersions.get': 'template versions conference-ticket --version 1',
  'templateVersions.update': 'template push template.json',
  'templateVersions.delete': 'template delete-draft conference-ticket --yes',
  'templateVersions.publish': 'template publish conference-ticket',
  'templateVersions.preview': 'template preview conference-ticket',
  'upgrades.create': 'template upgrade conference-ticket --limit 100 --yes',
  'upgrades.list': 'upgrade list conference-ticket',
  'upgrades.get': 'upgrade get conference-ticket 01985f0c-7a10-7000-8000-00000000002b',
  'upgrades.cancel': 'upgrade cancel conference-ticket 01985f0c-7a10-7000-8000-00000000002b',
  'joinPages.get': 'template join conference-ticket',
  'joinPages.set': 'template join set conference-ticket --file join.json',
  'joinPages.delete': 'template join delete conference-ticket --yes',
  'images.create': 'image upload logo.png',
  'passes.create':
    'pass create --template conference-ticket --external-id order-1815-1 --label "Ada Lovelace" --var seat=A-17',
  'passes.createBatch': 'issue attendees.csv --template conference-ticket',
  'passes.import': 'import passes.csv --template conference-ticket --identity acme',
  'passes.get': 'pass get order-1815-1 --external',
  'passes.list': 'pass list --status ISSUED',
  'passes.update': 'pass update order-1815-1 --external --var seat=B-2',
  'passes.rotateCode': 'pass rotate-code order-1815-1 --external',
  'passes.transfer': 'pass transfer order-1815-1 --external --label "Charles Babbage" --var seat=A-17',
  'passes.void': 'pass void order-1815-1 --external --reason refunded',
  'passes.revokeLinks': 'pass revoke-links order-1815-1 --external',
  'passes.wallets': 'pass wallets order-1815-1 --external',
  'passes.preview': 'pass preview order-1815-1 --external',
  'notifications.create': 'notify order-1815-1 --external --message "Doors open at 8:30."',
  'notifications.list': 'notification list order-1815-1 --external',
  'notifications.get': 'notification get order-1815-1 01985f0c-7a10-7000-8000-00000000002a --external',
  'notifications.cancel': 'notification cancel order-1815-1 01985f0c-7a10-7000-8000-00000000002a --external',
  'broadcasts.create': 'broadcast send "Polyglot 2027" --message "Doors open at 8:30."',
  'broadcasts.list': 'broadcast list "Polyglot 2027"',
  'broadcasts.get': 'broadcast get "Polyglot 2027" 01985f0c-7a10-7000-8000-00000000002b',
  'broadcasts.stats': 'broadcast get "Polyglot 2027" 01985f0c-7a10-7000-8000-00000000002b',
  'broadcasts.cancel': 'broadcast cancel "Polyglot 2027" 01985f0c-7a10-7000-8000-00000000002b',
  'webhooks.list': 'webhook list',
  'webhooks.create': 'webhook create --to https://tickets.example.com/hooks --event pass.issued',
  'webhooks.get': 'webhook get https://tickets.example.com/hooks',
  'webhooks.update': 'webhook update https://tickets.example.com/hooks --description Tickets',
  'webhooks.delete': 'webhook delete https://tickets.example.com/hooks --yes',
  'webhooks.enable': 'webhook enable https://tickets.example.com/hooks',
  'webhooks.disable': 'webhook disable https://tickets.example.com/hooks',
  'webhooks.test': 'webhook test https://tickets.example.com/hooks',
  'webhooks.rotateSecret': 'webhook rotate-secret https://tickets.example.com/hooks --yes',
  'webhooks.listDeliveries': 'webhook deliveries --webhook https://tickets.example.com/hooks',
  'deliveries.list': 'webhook deliveries --status FAILED',
  'deliveries.get': 'webhook deliveries 01985f0c-7a10-7000-8000-00000000002c',
  'deliveries.redeliver': 'webhook redeliver 01985f0c-7a10-7000-8000-00000000002c',
  'events.follow': 'webhook listen --forward-to http://localhost:8080/hooks',
  'scans.create': 'scan --project "Polyglot 2027" --gate North',
  'scans.list': 'scans list --result denied',
  'scans.stats': 'scans stats --project "Polyglot 2027"',
  'scans.get': 'scans get 01985f0c-7a10-7000-8000-00000000002d',
  'scans.reverse': 'scans reverse 01985f0c-7a10-7000-8000-00000000002d --reason "scanned by mistake"',
  'scans.replay': 'policy replay --project "Polyglot 2027" --policy strict.json --from 2027-05-30T00:00Z',
  'scans.explain': 'pass explain order-1815-1 --external',
  'scanner.snapshot': 'scan --project "Polyglot 2027"',
  'scanner.report': 'scan --project "Polyglot 2027"',
  'doors.invite': 'door invite --project "Polyglot 2027" --gate North --expires-in 12h --phones 20',
  'doors.endInvitation': 'door uninvite 01985f0c-7a10-7000-8000-00000000002e',
  'doors.claim': 'api POST /v1/doors/claim -f code=D4KMR6QXW2VTBHZJ3NP5SAYGEC -f name="Anna’s phone"',
  'doors.list': 'door list --project "Polyglot 2027"',
  'doors.update': 'door update 01985f0c-7a10-7000-8000-00000000002f --gate South',
  'balances.list': 'pass balance order-1815-1',
  'balances.createEntry': 'pass balance add order-1815-1 points 10 --ref order-1815',
  'balances.listEntries': 'pass balance list order-1815-1 points',
  'balances.reverseEntry': 'pass balance reverse order-1815-1 points 01985f0c-7d40-7e29-b3a5-8c7d6e5f4a05',
  'zones.create': 'zone create --project "Polyglot 2027" --name Hall --capacity 500 --when-full deny',
  'zones.list': 'zone list --project "Polyglot 2027"',
  'zones.get': 'zone get Hall',
  'zones.update': 'zone update Hall --capacity 450',
  'zones.delete': 'zone delete Hall --yes',
  'zones.reset': 'zone reset Hall --reason "End of day 1" --yes',
  'zones.adjust': 'zone adjust Hall --delta=-1 --reason "Left by the back door"',
  'zones.occupancy': 'zone occupancy Hall --by minute --from 2h',
  'doors.revoke': 'door revoke 01985f0c-7a10-7000-8000-00000000002f --yes',
  'wallets.list': 'wallets list --stale --older-than 1h',
  'wallets.slo': 'api GET /v1/wallets/slo',
  'wallets.logs': 'wallets logs --pass order-1815-1',
  'wallets.nudge': 'wallets nudge --silent-for 1h',
  'tokens.current': 'whoami',
  'identities.list': 'identity list',
  'workspace.get': 'workspace show',
}
