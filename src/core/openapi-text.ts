import type { Contract } from './contract/contract.ts'
import { errorTable } from './errors.ts'
import { subscribableEvents } from './events.ts'

/** The texts of the API description that do not belong to an endpoint. */

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
      'One definition that renders on both platforms. A version is a draft until it is published irreversibly.',
  },
  images: { name: 'Images', description: 'Images of templates, identified by their content.' },
  passes: {
    name: 'Passes',
    description:
      'Issued from a published version and pinned to it. Creation is idempotent, and each update makes a ' +
      'revision. A pass goes from QUEUED through ISSUING to ISSUED (or FAILED), and ends as EXPIRED or VOID.',
  },
  notifications: { name: 'Notifications', description: 'Messages to the wallets that hold one pass.' },
  broadcasts: { name: 'Broadcasts', description: 'One message to every issued pass of a project.' },
  webhooks: {
    name: 'Webhooks',
    description: 'Your endpoints, which receive a signed POST for each event. Managed by owners.',
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
      'Phones that scan at a gate, each with a separate token. Owners invite them. Each of their requests has ' +
      '`X-Door-Version` and `X-Door-Pending`.',
  },
  identities: { name: 'Identities', description: 'The Apple signers and Google issuers of passes.' },
  wallets: {
    name: 'Wallets',
    description: 'The version of a pass on each phone, and a way to push outdated phones again.',
  },
  workspace: { name: 'Workspace', description: "The limits and usage of a token's workspace." },
  tokens: { name: 'Access tokens', description: 'Created by the operator with `passes token create`. Shown once.' },
}

const isReserved = (meaning: string) => meaning.startsWith('Reserved')

function errorRows(choose: (meaning: string) => boolean): string[] {
  return Object.entries(errorTable)
    .filter(([, [, meaning]]) => choose(meaning))
    .map(([code, [status, meaning]]) => `| ${code} | ${status} | ${meaning} |`)
}

/** In Markdown. */
export const DESCRIPTION = `Issues Apple Wallet and Google Wallet passes and manages them: updates, notifications, scans at the door, webhooks.
The server validates every request and response of this page against the source from which the page is generated.

## Access

Send an access token as \`Authorization: Bearer psk_…\` or as \`X-API-Key: psk_…\`. A token belongs to one workspace and has
scopes. Each endpoint lists the scope that it requires. A resource of another workspace is treated as if it did not exist.

## Conventions

- Bodies are JSON. Unknown properties and parameters are rejected with \`VALIDATION_ERROR\`. Its \`details.issues\` lists the
  first 100 problems, and \`details.omittedIssues\` counts the others.
- Integers beyond 2^53 and numbers too large for a double (\`1e400\`) are rejected: send them as text.
- IDs are UUIDs. Times are ISO 8601. Responses show them in UTC.
- Every response has an \`X-Correlation-Id\`: that of the request, or a new one. Jobs, deliveries and log lines that
  the request causes have it too.
- A response with a single pass has its revision as \`ETag\`. With \`If-Match\`, an update is rejected if the pass has changed.
- Each token can send 100 requests per second, in bursts of 200, unless the operator set other limits. A 429 or 503 has the
  number of seconds to wait in \`Retry-After\`.
- A workspace has limits, for example for concurrent requests: \`GET /v1/workspace\` shows them. A request that would exceed one
  is rejected with 409 \`CONFLICT\`, and \`details\` has \`limit\`, \`allowed\` and \`used\`.
- Creating a pass is idempotent on \`externalPassId\`, a notification or broadcast on \`idempotencyKey\`, a scan on \`externalRef\`.

## Lists

Every list returns \`items\`, \`total\`, \`limit\`, \`offset\`, \`nextCursor\` and \`hasMore\`. Pass \`nextCursor\` as \`cursor\` until \`hasMore\` is
false. A cursor is only valid with its sort and filters. Different parameters must all match. The values of a repeated parameter
are alternatives, at most 20 unless the parameter has a lower limit. Time bounds are inclusive. \`offset\` is deprecated: later pages cost more with it.

## Events

Webhooks receive ${events}, as
\`{id, type, timestamp, correlationId, data}\`, signed in \`X-Service-Signature: t=<unix seconds>,v1=<hex>\`: the HMAC-SHA256 of
\`<t>.<raw body>\` with the endpoint's secret. Failed deliveries are retried for three days. Deduplicate by \`id\`.
\`GET /v1/events\` streams the same envelopes to a client behind a firewall, or on a laptop.

## Errors

The body of an error is \`{errorCode, message, correlationId, details}\` (without \`errorCode\` when recording a scan).

| errorCode | status | meaning |
|---|---|---|
${errorRows((meaning) => !isReserved(meaning)).join('\n')}

### Reserved codes

These codes are part of the enumeration but are never returned.

| errorCode | status | meaning |
|---|---|---|
${errorRows(isReserved).join('\n')}

## Versions

The path contains the version of the API. Fields and event types can be added. Deprecated ones stay and are marked.`
