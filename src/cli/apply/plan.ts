import { type Client, paginate } from '../../client/client.ts'
import { ApiError } from '../../client/client-errors.ts'
import type { Project } from '../../core/contract/projects.ts'
import type { Webhook, WebhookWithSecret } from '../../core/contract/webhooks/webhooks.ts'
import { limitNames } from '../../core/rules/pass/workspace-limits.ts'
import { shellQuote } from '../../core/shell-quote.ts'
import { collect } from '../arguments/named.ts'
import { CliError } from '../command/cli-error.ts'
import { limitFlag } from '../records.ts'
import { fileError } from '../template/json-file.ts'
import { requirePublishable, type TemplateFile } from '../template/template-file.ts'
import {
  type Change,
  changesIn,
  changesTo,
  findChanges,
  findStored,
  pushTemplate,
  withImageIds,
} from '../template/template-push.ts'
import type { DesiredState, LimitsFile, ProjectFile, SecretsFile, WebhookFile } from './files.ts'

export type Action = 'create' | 'change' | 'unchanged' | 'delete' | 'notInFiles' | 'operator'

export type Outcome = 'created' | 'updated' | 'unchanged' | 'deleted' | 'notInFiles' | 'operator'

export interface Step {
  kind: 'project' | 'template' | 'webhook' | 'limits'
  name: string
  /** The path of the file; `null` if no file describes the object. */
  file: string | null
  action: Action
  changes: Change[]
  note?: string
  /**
   * Performs the step; missing if there is nothing to do, or if only an operator can do it. The outcome can differ from
   * `action` if the server changed after the plan.
   */
  carryOut?: () => Promise<Outcome>
}

/**
 * Whether a step is a difference between the files and the server. An object without a file is a difference only if it
 * will be deleted.
 */
export function isDifference({ action }: Pick<Step, 'action'>): boolean {
  return action !== 'unchanged' && action !== 'notInFiles'
}

export interface PlanOptions {
  /** Whether to delete objects that no file describes. Without the folder webhooks/, for example, webhooks are kept. */
  prune: boolean
  publish: boolean
  secrets: SecretsFile
}

/** Compares files with the server and returns every step, in order of execution. Writes nothing. */
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
    // `ends` is in reverse order, so that templates are deleted before their projects.
    ...ends,
    ...(desired.limits ? [await planLimits(client, desired.limits)] : []),
  ]
}

type PlanEnd = (kind: Step['kind'], name: string, remove: () => Promise<unknown>) => void

async function planContent(
  client: Client,
  { projects, templates }: DesiredState,
  { prune, publish }: PlanOptions,
  planEnd: PlanEnd,
): Promise<Step[]> {
  const steps: Step[] = []
  const namesProject = templates?.some(({ project }) => typeof project === 'string') ?? false
  const stored = projects || namesProject ? await collect(paginate((call) => client.projects.list(call), {})) : []
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
    for (const { id, key, name } of await collect(paginate((call) => client.templates.list(call), {}))) {
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
  const stored = await collect(paginate((call) => client.webhooks.list(call), {}))
  const wanted = new Set(files.map(({ value }) => value.url))
  for (const { id, url } of stored.filter(({ url }) => !wanted.has(url))) {
    planEnd('webhook', url, () => client.webhooks.delete({ params: { id } }))
  }
  return files.map((file) => planWebhook(client, file, stored, secrets))
}

/** Compares the limits with their file. The step changes nothing, because only operators can set limits. */
async function planLimits(client: Client, { path, value }: LimitsFile): Promise<Step> {
  const { $schema: _, ...wanted } = value
  const { name, limits } = await client.workspace.get()
  if (!limits) throw new CliError(`${path}: the token is bound to projects and cannot read the limits of its workspace`)
  const changes = changesIn(limits, wanted)
  const step = { kind: 'limits', name, file: path, changes } as const
  if (changes.length === 0) return { ...step, action: 'unchanged' }
  const flags = limitNames
    .filter((limit) => wanted[limit] !== undefined && wanted[limit] !== limits[limit])
    .map((limit) => `--${limitFlag(limit)} ${wanted[limit]}`)
  const note = `an operator must run on the server: passes workspace limits ${shellQuote(name)} ${flags.join(' ')}`
  return { ...step, action: 'operator', note }
}

/** Deletes an object. Also succeeds if another client has already deleted the object. */
async function deleted(remove: () => Promise<unknown>): Promise<'deleted'> {
  try {
    await remove()
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
  }
  return 'deleted'
}

/** The IDs of projects by name. A step that creates a project adds its ID. */
type ProjectIds = Map<string, string>

function planProject(client: Client, file: ProjectFile, stored: readonly Project[], ids: ProjectIds): Step {
  const { path, value } = file
  const { $schema: _, ...wanted } = value
  const [project] = requireOne(stored, ({ name }) => name === wanted.name, { path, what: `projects ${wanted.name}` })
  const step = { kind: 'project', name: wanted.name, file: path } as const
  if (!project) {
    return {
      ...step,
      action: 'create',
      changes: [],
      async carryOut() {
        try {
          ids.set(wanted.name, (await client.projects.create({ body: { ...wanted, unique: true } })).id)
          return 'created'
        } catch (error) {
          // If a concurrent run created the project, update it, so that the step does not fail with a conflict.
          const id = error instanceof ApiError && error.code === 'CONFLICT' && error.details.projectId
          if (typeof id !== 'string') throw error
          ids.set(wanted.name, id)
          await client.projects.update({ params: { id }, body: wanted })
          return 'updated'
        }
      },
    }
  }
  ids.set(wanted.name, project.id)
  const changes = changesIn(project, wanted)
  if (changes.length === 0) return { ...step, action: 'unchanged', changes }
  return {
    ...step,
    action: 'change',
    changes,
    async carryOut() {
      await client.projects.update({ params: { id: project.id }, body: wanted })
      return 'updated'
    },
  }
}

/** @throws CliError if a file matches several objects */
function requireOne<T extends { id: string }>(
  stored: readonly T[],
  isMeant: (one: T) => boolean,
  { path, what }: { path: string; what: string },
): T[] {
  const found = stored.filter(isMeant)
  if (found.length <= 1) return found
  const ids = found.map(({ id }) => id)
  throw new CliError([`${path}: the server has ${found.length} ${what}`, ...ids].join('\n'), {
    code: 'CONFLICT',
    details: { file: path, ids },
    hint: 'rename or delete all but one, so that the file matches exactly one.',
  })
}

/** @throws CliError if the template cannot be published */
async function planTemplate(
  client: Client,
  file: TemplateFile,
  { publish, projectIds }: { publish: boolean; projectIds: ProjectIds },
): Promise<Step> {
  const stored = await findStored(client, file)
  const step = { kind: 'template', name: file.key!, file: file.path } as const
  const carryOut = async () => {
    const projectId = typeof file.project === 'string' ? projectIds.get(file.project) : file.project
    return (await pushTemplate(client, file, { publish, projectId })).outcome
  }
  const definition = await withImageIds(client, file)
  const changes = changesTo(stored, stored?.newest, file, definition)
  const { stage } = stored?.newest ?? {}
  if (publish && stage === 'draft') changes.push({ path: 'stage', before: 'draft', after: 'published' })
  if (stored && changes.length === 0) return { ...step, action: 'unchanged', changes }
  if (publish) await requirePublishable(file)
  // List no changes for a new template. Otherwise, all of its values would be listed.
  return stored
    ? { ...step, action: 'change', changes, carryOut }
    : { ...step, action: 'create', changes: [], carryOut }
}

/** @throws CliError with the line of a project name, if the project will not exist when the template is applied */
async function requireProjects(
  files: readonly TemplateFile[],
  names: ReadonlySet<string>,
  where: string,
): Promise<void> {
  for (const file of files) {
    if (typeof file.project !== 'string' || names.has(file.project)) continue
    const message = `Project ${file.project} not found ${where}`
    throw await fileError(file, 'belongs to a missing project', [{ path: ['project'], message }])
  }
}

function planWebhook(client: Client, file: WebhookFile, stored: readonly Webhook[], secrets: SecretsFile): Step {
  const { path, value } = file
  const { $schema: _, status, ...fields } = value
  const { url } = fields
  const [webhook] = requireOne(stored, (one) => one.url === url, { path, what: `webhooks of ${url}` })
  const step = { kind: 'webhook', name: url, file: path } as const

  async function bringUp(id: string): Promise<Outcome> {
    await client.webhooks.update({ params: { id }, body: fields })
    await setStatus(id)
    return 'updated'
  }

  async function setStatus(id: string): Promise<void> {
    if (status === 'ENABLED') await client.webhooks.enable({ params: { id } })
    if (status === 'DISABLED') await client.webhooks.disable({ params: { id } })
  }

  async function create(): Promise<Outcome> {
    // Record the URL before the creation: if the response with the secret is lost, the next run knows that the secret
    // is missing.
    await secrets.set(url, null)
    let made: WebhookWithSecret
    try {
      made = await client.webhooks.create({ body: { ...fields, unique: true } })
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error
      await secrets.delete(url)
      const { webhookId } = error.details
      // If a concurrent run created the webhook, update that webhook. Only the other run has the secret.
      if (error.code === 'CONFLICT' && typeof webhookId === 'string') return bringUp(webhookId)
      throw error
    }
    await secrets.set(url, made.secret)
    await setStatus(made.id)
    return 'created'
  }

  if (!webhook) return { ...step, action: 'create', changes: [], carryOut: create }
  const { events, ...rest } = fields
  const sorted = (list: readonly string[]) => list.toSorted()
  const changes = [
    ...changesIn(webhook, { ...rest, status }),
    ...findChanges({ events: sorted(webhook.events) }, { events: sorted(events) }),
  ]
  const lacksSecret = secrets.isPending(url)
  if (changes.length === 0 && !lacksSecret) return { ...step, action: 'unchanged', changes }
  return {
    ...step,
    action: 'change',
    changes,
    ...(lacksSecret && { note: 'gets a new secret, because the response with its first secret was lost' }),
    async carryOut() {
      if (lacksSecret)
        await secrets.set(url, (await client.webhooks.rotateSecret({ params: { id: webhook.id } })).secret)
      return bringUp(webhook.id)
    },
  }
}
