import type { Contract } from './contract/contract.ts'
import { errorTable } from './errors.ts'

/** The texts of the API description that do not belong to an endpoint. */

/** The resources, in the order of the contract. */
export const tags: Record<keyof Contract, { name: string; description: string }> = {
  projects: { name: 'Projects', description: 'Group templates and passes. Broadcasts go to the passes of one.' },
  templates: { name: 'Templates', description: 'What passes are issued from. A template has numbered versions.' },
  templateVersions: {
    name: 'Template versions',
    description: 'One definition that renders on both platforms: a draft until it is published, once and for good.',
  },
  images: { name: 'Images', description: 'Pictures of templates, by their content.' },
  passes: {
    name: 'Passes',
    description:
      'Issued from a published version and pinned to it. Created idempotently, updated revision by revision, voided. ' +
      'A pass goes from QUEUED through ISSUING to ISSUED (or FAILED), and ends as EXPIRED or VOID.',
  },
  notifications: { name: 'Notifications', description: 'Messages to the wallets that hold one pass.' },
  broadcasts: { name: 'Broadcasts', description: 'One message to every issued pass of a project.' },
  webhooks: {
    name: 'Webhooks',
    description: 'Endpoints of yours that get a signed POST for each event. Managed by owners.',
  },
  deliveries: { name: 'Deliveries', description: 'What was sent to webhooks, attempt by attempt.' },
  events: {
    name: 'Events',
    description: 'What happens in the workspace, as it happens, over a connection that the client opens.',
  },
  scans: {
    name: 'Scans',
    description: 'Verdicts at the door, and the append-only ledger of every attempt, accepted or not.',
  },
  scanner: {
    name: 'Offline scanning',
    description: 'A snapshot to take along, and a way to report what was decided by it.',
  },
  doors: {
    name: 'Doors',
    description:
      'Phones that scan at a gate, each with a token of its own. Owners invite them; each of their requests carries ' +
      '`X-Door-Version` and `X-Door-Pending`.',
  },
  identities: { name: 'Identities', description: 'Who signs passes for Apple, and whose they are at Google.' },
  wallets: {
    name: 'Wallets',
    description: 'Which phone holds which version of a pass, and a way to reach those that stay silent.',
  },
  workspace: { name: 'Workspace', description: 'Limits of the workspace that a token belongs to, and its usage.' },
  tokens: { name: 'Access tokens', description: 'Made by the operator with `passes token create`; shown once.' },
}

const isReserved = (meaning: string) => meaning.startsWith('Reserved')

function errorRows(choose: (meaning: string) => boolean): string[] {
  return Object.entries(errorTable)
    .filter(([, [, meaning]]) => choose(meaning))
    .map(([code, [status, meaning]]) => `| ${code} | ${status} | ${meaning} |`)
}

/** In Markdown. */
export const DESCRIPTION = `Issues Apple Wallet and Google Wallet passes and looks after them: updates, notifications, scans at the door, webhooks.
Every request and answer of this page is checked by the server against the same source that the page is made from.

## Access

Send an access token as \`Authorization: Bearer psk_…\` or as \`X-API-Key: psk_…\`. A token belongs to one workspace and holds
scopes; the scope that an endpoint needs stands with it. A resource of another workspace is answered as one that does not exist.

## Conventions

- Bodies are JSON. Unknown properties and parameters are refused with \`VALIDATION_ERROR\`, whose \`details.issues\` lists the
  first 100 problems at once; \`details.omittedIssues\` says how many more there are.
- A number written as a whole one beyond 2^53, or too large for a double (\`1e400\`), is refused: send it as text.
- Ids are UUIDs. Times are ISO 8601; answers show them in UTC.
- Every answer carries \`X-Correlation-Id\`: yours if the request had one, else a new one. Jobs, deliveries and log lines that
  the request causes carry it too.
- A single pass is answered with its revision as \`ETag\`; \`If-Match\` makes an update refuse what somebody else changed.
- Each token may send 100 requests a second, in bursts of 200, unless the operator set other limits. A 429 or 503 says in
  \`Retry-After\` how many seconds to wait.
- A workspace has limits, on requests in flight among others: \`GET /v1/workspace\` shows them. What would pass one is refused
  with 409 \`CONFLICT\` and \`details\` of \`limit\`, \`allowed\` and \`used\`.
- Creating a pass is idempotent on \`externalPassId\`, a notification or broadcast on \`idempotencyKey\`, a scan on \`externalRef\`.

## Lists

Every list answers \`items\`, \`total\`, \`limit\`, \`offset\`, \`nextCursor\` and \`hasMore\`. Pass \`nextCursor\` as \`cursor\` until \`hasMore\` is
false; a cursor belongs to the sort and filters that it was made with. Different parameters must all hold, and the values of a
repeated one are alternatives, at most 20 of them unless the parameter says less. Bounds of time are inclusive. \`offset\` is deprecated: pages far in cost more with it.

## Events

Webhooks get \`pass.issued\`, \`pass.updated\`, \`pass.voided\`, \`pass.failed\`, \`pass.scanned\`, \`pass.installed\` and \`pass.removed\`, as
\`{id, type, timestamp, correlationId, data}\`, signed in \`X-Service-Signature: t=<unix seconds>,v1=<hex>\`: the HMAC-SHA256 of
\`<t>.<raw body>\` under the endpoint's secret. Failed deliveries are sent again for three days; deduplicate by \`id\`.
\`GET /v1/events\` streams the same envelopes to a client behind a firewall, or on a laptop.

## Errors

The body of an error is \`{errorCode, message, correlationId, details}\` (recording a scan leaves \`errorCode\` out).

| errorCode | status | meaning |
|---|---|---|
${errorRows((meaning) => !isReserved(meaning)).join('\n')}

### Reserved codes

Part of the enumeration, and answered by nothing.

| errorCode | status | meaning |
|---|---|---|
${errorRows(isReserved).join('\n')}

## Versions

The interface is versioned in its path. Fields and event types may be added; those that are deprecated stay, and are marked.`
