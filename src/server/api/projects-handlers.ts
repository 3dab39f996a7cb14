import { type projects as contract, Project, type ProjectFigures } from '../../core/contract/projects.ts'
import { byPlatform, platforms } from '../../core/contract/schemas/platform.ts'
import { ApiError, validationError } from '../../core/errors.ts'
import { HOUR_MS } from '../../storage/operations/counters.ts'
import { hourOf } from '../../storage/operations/figures-repository.ts'
import type { Repositories } from '../../storage/store.ts'
import type { IdentityIds } from '../../storage/workspaces/identities-repository.ts'
import type { RequestContext } from '../context.ts'
import type { Handlers } from '../http/mount.ts'
import { toBody, toPage } from '../http/responses.ts'
import { audit } from './audit.ts'
import { requireBuckets } from './buckets.ts'
import { requireChange } from './require-change.ts'
import { holdProject, noProject, requireProject, requireWholeWorkspace } from './token-projects.ts'

export const projects: Handlers<typeof contract> = {
  list: async ({ query }, { store, workspaceId }) => {
    return toPage(await store.projects.list(workspaceId, query), (project) => toBody(Project, project))
  },

  create: ({ body: { unique, ...fields } }, context) => {
    const { store, workspaceId, now } = context
    requireWholeWorkspace(context, 'The token is bound to projects and cannot create others.')
    return store.transaction(async (tx) => {
      if (unique) {
        await tx.usage.lock(workspaceId)
        const [projectId] = await tx.projects.listIdsByName(workspaceId, fields.name)
        if (projectId) {
          const message = `Project ${fields.name} already exists.`
          throw new ApiError('CONFLICT', { message, details: { projectId } })
        }
      }
      const project = await tx.projects.insert(workspaceId, fields, now)
      await audit(tx, context, 'project.create', project.id)
      return toBody(Project, project)
    })
  },

  get: async ({ params }, { store, workspaceId }) =>
    toBody(Project, (await store.projects.find(workspaceId, params.id)) ?? missing(params.id)),

  update: async ({ params, body }, context) => {
    requireChange(body, 'Give a name, a description, a color, or an identity.')
    return context.store.transaction(async (tx) => {
      await requireIdentities(tx, body, context)
      const project = await tx.projects.update(context.workspaceId, params.id, body, context.now)
      if (!project) return missing(params.id)
      await audit(tx, context, 'project.update', project.id)
      return toBody(Project, project)
    })
  },

  delete: ({ params }, context) => {
    const { store, workspaceId, now, correlationId } = context
    return store.transaction(async (tx) => {
      await holdProject(tx, workspaceId, params.id)
      await tx.zones.endProject(workspaceId, params.id, now)
      await tx.doors.endProject(workspaceId, params.id, now)
      await tx.projects.delete(workspaceId, params.id)
      const cancelled = await tx.broadcasts.deleteAllScheduled(workspaceId, params.id, now)
      await tx.jobs.deleteWaiting('fan-out-broadcast', ...cancelled)
      await tx.jobs.insert([{ workspaceId, kind: 'detach-project', subject: params.id, correlationId }], now)
      await audit(tx, context, 'project.delete', params.id)
    })
  },

  stats: async ({ params }, { store, workspaceId, now }) => {
    await requireProject(store, workspaceId, params.id)
    return { projectId: params.id, ...(await store.projects.counts(workspaceId, params.id, now)) }
  },

  figures: async ({ params: { id }, query }, { store, workspaceId, now }) => {
    await requireProject(store, workspaceId, id)
    const range = { from: new Date(query.from), to: query.to === undefined ? now : new Date(query.to) }
    const starts = requireBuckets(range, query.by, query.zone)
    const hours = { from: hourOf(range.from), until: hourOf(new Date(range.to.getTime() - 1)) + 1 }
    // An hour counts in the bucket that contains the start of the hour.
    const buckets = starts.map((start) => Math.ceil(start / HOUR_MS))
    const [sums, hasJoinPage] = await Promise.all([
      store.figures.sums(workspaceId, id, hours, buckets),
      store.joinPages.existsInProject(workspaceId, id),
    ])
    return { items: inBuckets(sums, starts, hasJoinPage) }
  },
}

type FiguresItem = ProjectFigures['items'][number]

function inBuckets(sums: Map<string, number[]>, starts: number[], hasJoinPage: boolean): FiguresItem[] {
  // Also show the figures of a join page that was deleted.
  const hasJoined = hasJoinPage || [...sums.keys()].some((figure) => figure.startsWith(JOINED))
  const items = starts.map(
    (start): FiguresItem => ({
      at: new Date(start).toISOString(),
      issued: 0,
      voided: 0,
      expired: 0,
      updated: 0,
      notified: 0,
      opened: { ...byPlatform(() => 0), other: 0 },
      installed: byPlatform(() => 0),
      removed: byPlatform(() => 0),
      pushed: 0,
      fetched: 0,
      ...(hasJoined && { joined: Object.create(null) }),
      scans: {},
    }),
  )
  for (const [figure, ofFigure] of sums) {
    const [name, kind] = figure.split('/') as [string, string | undefined]
    for (const [bucket, n] of ofFigure.entries()) {
      if (n === 0) continue
      const item = items[bucket]!
      if (figure.startsWith(JOINED)) addJoined(item, figure, n)
      else if (kind === undefined) item[name as 'issued'] = n
      else (item[name as 'opened'] as Record<string, number>)[kind] = n
    }
  }
  return items
}

const JOINED = 'joined/'

/**
 * Adds a figure such as `joined/seen/window` to `joined`. The source (`window`) can contain slashes. `joined` has no
 * prototype, because a source can have a name such as `constructor`.
 */
function addJoined({ joined }: FiguresItem, figure: string, n: number): void {
  const [, kind, ...parts] = figure.split('/') as [string, 'seen' | 'submitted' | 'installed', ...string[]]
  const source = parts.join('/')
  joined![source] = { ...(joined![source] ?? { seen: 0, submitted: 0, installed: 0 }), [kind]: n }
}

async function requireIdentities(
  tx: Repositories,
  body: Partial<IdentityIds>,
  { workspaceId, token }: RequestContext,
): Promise<void> {
  for (const platform of platforms) {
    const field = `${platform}IdentityId` as const
    const id = body[field]
    if (typeof id !== 'string') continue
    const identity = token.projectIds ? undefined : await tx.identities.findGranted(workspaceId, id)
    const identityError = (message: string) => validationError([{ path: [field], message }])
    if (identity?.platform !== platform)
      throw identityError(`Is not an identity of this workspace for ${platform}: see GET /v1/identities`)
    if (identity.status === 'retired')
      throw identityError(
        `The identity ${identity.name} is retired: choose another one, or ask the operator to reactivate it`,
      )
  }
}

function missing(projectId: string): never {
  throw noProject(projectId)
}
