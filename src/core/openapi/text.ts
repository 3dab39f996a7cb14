import type { Contract } from '../contract/contract.ts'
import { errorTable } from '../errors.ts'
import { subscribableEvents } from '../events.ts'

/** The texts of the API description that do not describe an endpoint. */

const events = new Intl.ListFormat('en').format(subscribableEvents.map((type) => `\`${type}\``))

export const tags: Record<keyof Contract, { name: string; description: string }> = {
  projects: {
    name: 'Projects',
    description: 'Groups of templates and passes. A broadcast goes to the passes of one project.',
  },
  templates: { name: 'Templates', description: 'Templates of passes, with numbered versions.' },
  templateVersions: {
    name: 'Template versions',
    description:
      'A version contains one definition, which renders on both platforms. A version is a draft until you publish ' +
      'it, which cannot be undone.',
  },
  upgrades: {
    name: 'Upgrades',
    description: 'Moves the passes of a template to a published version, in the background.',
  },
  joinPages: {
    name: 'Join pages',
    description: 'Public pages where visitors create their own pass of a template.',
  },
  images: { name: 'Images', description: 'Images of templates, identified by their content.' },
  passes: {
    name: 'Passes',
    description:
      'Passes are issued from a published template version, and keep this version until they are upgraded. ' +
      'Creation is idempotent, and each update creates a revision. The status of a pass is QUEUED, then ISSUING, ' +
      'then ISSUED or FAILED, and at the end EXPIRED or VOID.',
  },
  balances: {
    name: 'Balances',
    description:
      'Points, stamps, and credit of passes, as the definition of the template declares them. The value of a balance ' +
      'is its start plus the sum of its entries.',
  },
  notifications: { name: 'Notifications', description: 'Messages to the wallets that hold one pass.' },
  broadcasts: { name: 'Broadcasts', description: 'One message to the issued passes of a project.' },
  webhooks: {
    name: 'Webhooks',
    description:
      'Your endpoints, which receive a signed POST for each event. Only tokens with the role owner can manage ' +
      'webhooks.',
  },
  deliveries: { name: 'Deliveries', description: 'The deliveries to webhooks, with their attempts.' },
  events: {
    name: 'Events',
    description: 'The events of the workspace, streamed over a connection that the client opens.',
  },
  scans: {
    name: 'Scans',
    description: 'Decisions at the door, and the append-only ledger of every attempt, accepted or not.',
  },
  scanner: {
    name: 'Offline scanning',
    description: 'A snapshot for offline scanning, and the upload of offline decisions.',
  },
  doors: {
    name: 'Doors',
    description:
      'Phones that scan at a gate, each with a separate token. Owners invite phones. Each request of a door has ' +
      'the headers `X-Door-Version` and `X-Door-Pending`.',
  },
  zones: {
    name: 'Zones',
    description:
      'Areas in which people are counted. Scans with a zoneId are entries and exits. The number of people ' +
      'inside is exact. It is the number of passes whose last accepted movement since the last reset (by scannedAt) is ' +
      'an entry, plus the adjustments.',
  },
  identities: { name: 'Identities', description: 'The Apple signers and Google issuers of passes.' },
  wallets: {
    name: 'Wallets',
    description: 'The version of each pass in each wallet, and an endpoint that sends pushes to outdated phones again.',
  },
  workspace: { name: 'Workspace', description: "The limits and usage of a token's workspace." },
  tokens: {
    name: 'Access tokens',
    description: 'The operator creates access tokens with `passes token create`. A token is shown once.',
  },
}

const isReserved = (meaning: string) => meaning.startsWith('Reserved')

function errorRows(choose: (meaning: string) => boolean): string[] {
  return Object.entries(errorTable)
    .filter(([, [, meaning]]) => choose(meaning))
    .map(([code, [status, meaning]]) => `| ${code} | ${status} | ${meaning} |`)
}

export const DESCRIPTION = `Issues Apple Wallet and Google Wallet passes and manages them: updates, notifications, scans at the door, webhooks.
The server validates every request and response against the same definition from which this page is generated.

## Access

Send an access token as \`Authorization: Bearer psk_…\` or as \`X-API-Key: psk_…\`. A token belongs to one workspace and has
scopes. Each endpoint lists the scope that it requires. A resource of another workspace is treated as if it did not exist.

## Conventions

- Bodies are JSON. Unknown properties and parameters are rejected with \`VALIDATION_ERROR\`. Its \`details.issues\` lists the
  first 100 problems, and \`details.omittedIssues\` counts the others.
- Integers beyond 2^53 and numbers too large for a double (\`1e400\`) are rejected. Send such numbers as strings.
- IDs are UUIDs. Times are ISO 8601. Responses show them in UTC.
- Every response has an \`X-Correlation-Id\`: the ID of the request, or a new ID. Jobs, deliveries, and log lines that
  the request causes have the same ID.
- A response with a single pass has the revision of the pass as \`ETag\`. An update with this value in
  \`If-Match\` is rejected if the pass has changed since.
- Each token can send 100 requests per second, in bursts of 200, unless the operator set other limits. A 429 or 503 has the
  number of seconds to wait in \`Retry-After\`.
- A workspace has limits, which \`GET /v1/workspace\` shows. A request that would exceed a limit is rejected with 409
  \`CONFLICT\`, and \`details\` has \`limit\`, \`allowed\`, and \`used\`.
- Creating a pass is idempotent on \`externalPassId\`, a notification or broadcast on \`idempotencyKey\`, a scan on \`externalRef\`.

## Lists

Every list returns \`items\`, \`total\`, \`limit\`, \`offset\`, \`nextCursor\` and \`hasMore\`. Pass \`nextCursor\` as \`cursor\` until \`hasMore\` is
false. A cursor is only valid with the sort order and filters of its request. An item must match all parameters. If a parameter is
repeated, an item must match one of the values. A parameter can have 20 values unless its endpoint states a lower limit. Time
bounds are inclusive. \`offset\` is deprecated, because later pages cost more.

## Events

Webhooks receive ${events}, as
\`{id, type, timestamp, correlationId, data}\`, signed in \`X-Service-Signature: t=<unix seconds>,v1=<hex>\`: the HMAC-SHA256 of
\`<t>.<raw body>\` with the endpoint's secret. Failed deliveries are retried for three days. A delivery can arrive twice, so deduplicate by \`id\`.
If your program cannot receive requests, for example behind a firewall, read the same envelopes from \`GET /v1/events\`.

## Errors

The body of an error is \`{errorCode, message, correlationId, details}\`. Errors of \`POST /v1/scans\` have no \`errorCode\`.

| errorCode | status | meaning |
|---|---|---|
${errorRows((meaning) => !isReserved(meaning)).join('\n')}

### Reserved codes

These codes are part of the enumeration but are never returned.

| errorCode | status | meaning |
|---|---|---|
${errorRows(isReserved).join('\n')}

## Versions

The path contains the version of the API. New fields and event types can be added within a version. Deprecated fields remain, and are
marked as deprecated.`
