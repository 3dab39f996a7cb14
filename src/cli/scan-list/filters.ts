import { Flags, type Interfaces } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import { LedgerReason, ScanResult } from '../../core/contract/scan-shapes.ts'
import type { scans } from '../../core/contract/scans.ts'
import type { RouteCall } from '../../core/route.ts'
import { filterFlag, pastFlag, repeatable } from '../arguments/list-flags.ts'
import { named } from '../arguments/named.ts'
import { getPassId } from '../arguments/pass-argument.ts'

type Query = NonNullable<RouteCall<typeof scans.list>['query']>

export const ledgerFlags = {
  project: named('project', filterFlag('Only scans of passes of this project.')),
  template: named('template', filterFlag('Only scans of passes issued from this template.')),
  context: filterFlag('Only scans in this context, such as an event day.'),
  from: pastFlag('Scanned at or after this time: 2027-05-31T00:00:00Z, or 12h for twelve hours ago.'),
  to: pastFlag('Scanned at or before this time.'),
}

/** All filters of the list of scans except for the pass, which can be named by external id. */
export const scanFilterFlags = {
  ...ledgerFlags,
  pass: filterFlag('Only scans of this pass (external ID or ID).'),
  external: Flags.boolean({ summary: '--pass is an external ID, even if it looks like an ID.', dependsOn: ['pass'] }),
  result: Flags.option({
    summary: 'Only this result; denied includes everything not accepted. Repeatable.',
    options: ScanResult.options,
    ...repeatable,
  })(),
  reason: Flags.option({ summary: 'Only this reason. Repeatable.', options: LedgerReason.options, ...repeatable })(),
}

export function ledgerQuery(flags: Interfaces.InferredFlags<typeof ledgerFlags>) {
  return {
    projectId: flags.project,
    templateId: flags.template,
    scanContextKey: flags.context,
    from: flags.from,
    to: flags.to,
  }
}

/** Returns the flags as query parameters; the server validates the values. */
export function scanQuery(
  flags: Interfaces.InferredFlags<typeof scanFilterFlags>,
  passId: string[] | undefined,
): Query {
  return { ...ledgerQuery(flags), passId, result: flags.result, reason: flags.reason }
}

/** Returns the ids of the passes of `--pass`; `undefined` if there are none. */
export async function passIdsOf(
  client: Client,
  { pass, external }: { pass?: string[] | undefined; external: boolean },
): Promise<string[] | undefined> {
  return pass && Promise.all(pass.map((id) => getPassId(client, { id, external })))
}
