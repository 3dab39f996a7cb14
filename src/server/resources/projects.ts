import type { projects as contract } from '../../core/contract/projects.ts'
import { Problem } from '../../core/errors.ts'
import type { Handlers } from '../mount.ts'
import { toPage } from './page.ts'

export const projects: Handlers<typeof contract> = {
  list: async ({ query }, { store, workspaceId }) => ({
    status: 200,
    body: toPage(await store.projects.list(workspaceId, query)),
  }),

  create: async ({ body }, { store, workspaceId, now }) => ({
    status: 201,
    body: await store.transaction((tx) => tx.projects.insert(workspaceId, body, now)),
  }),

  get: async ({ params }, { store, workspaceId }) => ({
    status: 200,
    body: (await store.projects.find(workspaceId, params.id)) ?? missing(params.id),
  }),

  update: async ({ params, body }, { store, workspaceId, now }) => {
    if (Object.keys(body).length === 0) {
      throw new Problem('MISSING_REQUIRED_FIELD', { message: 'Give at least one of name, description and color.' })
    }
    const project = await store.transaction((tx) => tx.projects.update(workspaceId, params.id, body, now))
    return { status: 200, body: project ?? missing(params.id) }
  },

  delete: ({ params }, { store, workspaceId, now, correlationId }) =>
    store.transaction(async (tx) => {
      if (!(await tx.projects.delete(workspaceId, params.id))) return missing(params.id)
      await tx.jobs.insert([{ workspaceId, kind: 'detach-project', subject: params.id, correlationId }], now)
      return { status: 204, body: undefined }
    }),

  stats: async ({ params }, { store, workspaceId, now }) => {
    if (!(await store.projects.find(workspaceId, params.id))) return missing(params.id)
    return {
      status: 200,
      body: { projectId: params.id, ...(await store.projects.counts(workspaceId, params.id, now)) },
    }
  },
}

function missing(projectId: string): never {
  throw new Problem('NOT_FOUND', { message: 'There is no such project.', details: { projectId } })
}
