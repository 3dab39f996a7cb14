import type { Contract } from './contract/contract.ts'
import type { ErrorCode } from './errors.ts'
import type { Route, RouteCall } from './route.ts'

type BodyOf<R> = R extends Route ? (RouteCall<R> extends { body?: infer B } ? B : never) : never

type Examples = { [R in keyof Contract]?: { [O in keyof Contract[R]]?: BodyOf<Contract[R][O]> } }

const templateId = '01985f0c-7a10-7c3e-9d61-2f5b8e4a7c01'
const passId = '01985f0c-7b22-7f05-8a4e-6c1d9b3e5f02'

const ticket = {
  externalPassId: 'order-1815-1',
  label: 'Ada Lovelace',
  templateId,
  variables: { ticketType: 'Speaker', seat: 'A-17' },
}

const message = {
  body: 'Doors open at 8:30, keynote at 10.',
  sendAt: '2027-05-20T06:00:00Z',
  idempotencyKey: 'doors-open-day-1',
}

/** A request that each of these endpoints would take, as the reference shows it. */
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
  passes: {
    create: ticket,
    createBatch: { passes: [ticket, { ...ticket, externalPassId: 'order-1815-2', label: 'Charles Babbage' }] },
    update: { variables: { seat: 'B-2', gate: null } },
    void: { reason: 'refunded' },
  },
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
}

/** What `details` of an error hold, where they hold more than nothing. */
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
