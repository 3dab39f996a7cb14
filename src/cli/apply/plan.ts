import { type Client, walk } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import { limitNames } from '../../core/rules/pass/limits.ts'
import { collect } from '../arguments/named.ts'
import { limitFlag } from '../records/limits.ts'
import type { DesiredState, LimitsFile } from './desired-state.ts'
import { changesIn, type ProjectIds, planProject } from './plan-projects.ts'
import { planTemplate, requireProjects } from './plan-templates.ts'
import { planWebhook } from './plan-webhooks.ts'
import type { SecretsFile } from './secrets-file.ts'
import type { Step } from './step.ts'

export interface PlanOptions {
  /** What no file is about is deleted, of the kinds that there are files of. */
  prune: boolean
  publish: boolean
  secrets: SecretsFile
}

/** Holds files against the server: every step, in the order that they are carried out in. Writes nothing. */
export async function planApply(client: Client, desired: DesiredState, options: PlanOptions): Promise<Step[]> {
  const ends: Step[] = []
  const planEnd = (kind: Step['kind'], name: string, remove: () => Promise<unknown>) => {
    const step = { kind, name, file: null, changes: [] }
    ends.unshift(
      options.prune
        ? { ...step, action: 'delete', carryOut: () => deleted(remove) }
        : { ...step, action: 'notInFiles' },
    )
  }
  return [
    ...(await planContent(client, desired, options, planEnd)),
    ...(desired.webhooks ? await planWebhooks(client, desired.webhooks, options, planEnd) : []),
    // Templates before the projects that they belong to.
    ...ends,
    ...(desired.limits ? [await planLimits(client, desired.limits)] : []),
  ]
}

type PlanEnd = (kind: Step['kind'], name: string, remove: () => Promise<unknown>) => void

/** Projects and templates. */
async function planContent(
  client: Client,
  { projects, templates }: DesiredState,
  { prune, publish }: PlanOptions,
  planEnd: PlanEnd,
): Promise<Step[]> {
  const steps: Step[] = []
  const namesProject = templates?.some(({ project }) => typeof project === 'string') ?? false
  const stored = projects || namesProject ? await collect(walk((call) => client.projects.list(call), {})) : []
  const projectIds: ProjectIds = new Map(stored.map(({ id, name }) => [name, id]))
  const wanted = new Set(projects?.map(({ value }) => value.name))
  steps.push(...(projects ?? []).map((file) => planProject(client, file, stored, projectIds)))
  if (projects) {
    for (const { id, name } of stored.filter(({ name }) => !wanted.has(name))) {
      planEnd('project', name, () => client.projects.delete({ params: { id } }))
    }
  }
  if (templates) {
    const staying = projects && prune ? wanted : new Set([...wanted, ...projectIds.keys()])
    await requireProjects(templates, staying, projects && prune ? 'in projects/' : 'in projects/ or on the server')
    for (const file of templates) steps.push(await planTemplate(client, file, { publish, projectIds }))
    const keys = new Set<string | null>(templates.map(({ key }) => key!))
    for (const { id, key, name } of await collect(walk((call) => client.templates.list(call), {}))) {
      if (keys.has(key)) continue
      planEnd('template', key ?? `${name} (${id})`, () => client.templates.delete({ params: { id } }))
    }
  }
  return steps
}

async function planWebhooks(
  client: Client,
  files: NonNullable<DesiredState['webhooks']>,
  { secrets }: PlanOptions,
  planEnd: PlanEnd,
): Promise<Step[]> {
  const stored = await collect(walk((call) => client.webhooks.list(call), {}))
  const wanted = new Set(files.map(({ value }) => value.url))
  for (const { id, url } of stored.filter(({ url }) => !wanted.has(url))) {
    planEnd('webhook', url, () => client.webhooks.delete({ params: { id } }))
  }
  return files.map((file) => planWebhook(client, file, stored, secrets))
}

/** Limits are for operators to set: the interface only tells them. */
async function planLimits(client: Client, { path, value }: LimitsFile): Promise<Step> {
  const { $schema: _, ...wanted } = value
  const { name, limits } = await client.workspace.get()
  const changes = changesIn(limits, wanted)
  const step = { kind: 'limits', name, file: path, changes } as const
  if (changes.length === 0) return { ...step, action: 'unchanged' }
  const flags = limitNames
    .filter((limit) => wanted[limit] !== undefined && wanted[limit] !== limits[limit])
    .map((limit) => `--${limitFlag(limit)} ${wanted[limit]}`)
  const note = `an operator sets them on the server: passes workspace limits ${JSON.stringify(name)} ${flags.join(' ')}`
  return { ...step, action: 'operator', note }
}

/** What another has deleted meanwhile is as it should be. */
async function deleted(remove: () => Promise<unknown>): Promise<'deleted'> {
  try {
    await remove()
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
  }
  return 'deleted'
}
