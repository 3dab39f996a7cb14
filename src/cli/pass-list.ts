import { Flags, type Interfaces } from '@oclif/core'
import type { Pass, passes } from '../core/contract/passes.ts'
import { platforms } from '../core/contract/schemas/platform.ts'
import type { RouteCall } from '../core/route.ts'
import { passSorts, sortDirections } from '../core/rules/lists/sorts.ts'
import { passStatuses } from '../core/rules/pass/pass-status.ts'
import { filterFlag, PAST, pastFlag, projectFilter, projectQuery, repeatable } from './arguments/list-flags.ts'
import { named } from './arguments/named.ts'
import { parseWhere, whereFlag } from './arguments/where-flag.ts'
import type { ListColumn, ListShape } from './list/shape.ts'

type Query = NonNullable<RouteCall<typeof passes.list>['query']>

const number = 'a number, or a bound such as gte:3 or lte:7'

export const passFilterFlags = {
  status: Flags.option({
    summary: 'Only passes with this status. Repeatable.',
    options: passStatuses,
    ...repeatable,
  })(),
  'external-pass-id': filterFlag('Only the pass with this external ID.'),
  search: filterFlag('Only passes whose label, external ID, or status contains this text.'),
  project: projectFilter,
  template: named('template', filterFlag('Only passes of this template.')),
  group: filterFlag('Only passes in the group with this key.'),
  'join-slug': filterFlag('Only passes that the join page with this slug created.'),
  'join-source': filterFlag('Only passes that a join page created for a visit from this source.'),
  variable: filterFlag('Only passes with this variable, as name:value (at most five values).'),
  'valid-on': filterFlag('Only passes that are valid for scanning on this day, such as 2027-05-31.'),
  redeemed: Flags.boolean({
    summary: 'Only passes with an accepted scan; with --no-redeemed, only passes without one.',
    allowNo: true,
  }),
  'redeemed-context': filterFlag('With --redeemed or --no-redeemed: consider only scans in this context.'),
  installed: Flags.boolean({ summary: 'Only passes in a wallet; with --no-installed, only others.', allowNo: true }),
  platform: Flags.option({
    summary: 'Only passes in a wallet of this platform; with --no-installed, only passes in none. Repeatable.',
    options: platforms,
    ...repeatable,
  })(),
  stale: Flags.boolean({
    summary: 'Only passes with an outdated wallet; with --no-stale, only others.',
    allowNo: true,
  }),
  label: filterFlag('Only passes with this label.'),
  'label-match': Flags.option({
    summary: 'Kind of match for --label (default: exact).',
    options: ['exact', 'prefix', 'contains'] as const,
  })(),
  revision: filterFlag(`Only passes with this revision: ${number}.`),
  'template-version': filterFlag(`Only passes with this version of their template: ${number}.`),
  'created-from': pastFlag(`Only passes created at or after this time: ${PAST}.`),
  'created-to': pastFlag('Only passes created at or before this time.'),
  where: whereFlag,
  'sort-by': Flags.option({
    summary: 'Field by which all passes are sorted (default: createdAt).',
    options: passSorts,
  })(),
  'sort-dir': Flags.option({ summary: 'Sort order of --sort-by (default: desc).', options: sortDirections })(),
}

/** Returns `--sort` as query parameters, to sort across pages; `undefined` if the server cannot sort by the field. */
export function sortQuery(text = ''): Pick<Query, 'sortBy' | 'sortDir'> | undefined {
  const [name, direction = 'asc'] = text.split(':')
  const sortBy = passSorts.find((known) => known === name)
  const sortDir = sortDirections.find((known) => known === direction)
  return sortBy && sortDir && { sortBy, sortDir }
}

export function passQuery(flags: Interfaces.InferredFlags<typeof passFilterFlags>): Query {
  const query: Query = {
    status: flags.status,
    externalPassId: flags['external-pass-id'],
    search: flags.search,
    ...projectQuery(flags.project),
    templateId: flags.template,
    groupKey: flags.group,
    joinSlug: flags['join-slug'],
    joinSource: flags['join-source'],
    variable: flags.variable,
    validOn: flags['valid-on'],
    redeemed: flags.redeemed,
    redeemedContext: flags['redeemed-context'],
    installed: flags.installed,
    platform: flags.platform,
    stale: flags.stale,
    label: flags.label,
    labelMatch: flags['label-match'],
    revision: flags.revision,
    templateVersion: flags['template-version'],
    createdFrom: flags['created-from'],
    createdTo: flags['created-to'],
    sortBy: flags['sort-by'],
    sortDir: flags['sort-dir'],
  }
  const filters: Record<string, unknown> = query
  // Merge the values of --where with the flag for the same filter. Otherwise, --where would replace the flag.
  for (const [name, values] of Object.entries(parseWhere(flags.where) ?? {})) {
    filters[name] = filters[name] === undefined ? values : [filters[name], values].flat()
  }
  return query
}

export const passesShape: ListShape<Pass> = {
  columns: [
    { name: 'id', kind: 'id' },
    { name: 'externalPassId', title: 'external id' },
    ['label'],
    { name: 'status', whole: true },
    ['revision'],
    { name: 'templateId', kind: 'id', title: 'template' },
    ['templateVersion', 'latestTemplateVersion'],
    { name: 'projectId', kind: 'id', title: 'project' },
    { name: 'expiresAt', kind: 'time', title: 'expires', none: 'never' },
    ['createdAt', 'updatedAt'],
    ...platforms.map(
      (platform): ListColumn<Pass> => ({ name: `${platform}Link`, value: ({ hostedLinks }) => hostedLinks[platform] }),
    ),
    { name: 'smartLink', value: ({ hostedLinks }) => hostedLinks.smart },
    { name: 'groupKey', title: 'group' },
    { name: 'groupLink', value: ({ hostedLinks }) => hostedLinks.group },
    { name: 'joinSlug', value: ({ join }) => join?.slug ?? null, title: 'join page' },
    { name: 'joinSource', value: ({ join }) => join?.source ?? null, title: 'source' },
    { name: 'consentVersion', value: ({ join }) => join?.consentVersion ?? null, title: 'consent' },
    { name: 'consentedAt', value: ({ join }) => join?.consentedAt ?? null, kind: 'time', title: 'consented' },
    // Write all variables in one JSON cell, because the variables of later pages are not known when the header is
    // written.
    { name: 'variables', value: ({ variables }) => JSON.stringify(variables) },
  ],
  table: ['id', 'externalPassId', 'label', 'status', 'expiresAt'],
}
