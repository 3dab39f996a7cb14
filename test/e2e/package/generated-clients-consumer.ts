import createOpenApiFetch from 'openapi-fetch'
import { createClient as createHeyApiClient } from './hey-api/client/index.ts'
import * as heyApi from './hey-api/index.ts'
import type { components, paths } from './openapi-typescript.ts'
import { createApiClient as createZodClient } from './openapi-zod-client.ts'
import * as orval from './orval.ts'

/** A program that uses clients of four generators. The test generates the imported files, compiles the program, and runs it. */

export interface Server {
  url: string
  token: string
}

/** The calls of the flow, which each client makes with its own types. */
interface Calls {
  createProject(name: string): Promise<{ id: string }>
  createTemplate(projectId: string): Promise<{ id: string }>
  createVersion(templateId: string): Promise<{ id: string; definition: { accept?: string[] } }>
  publish(versionId: string): Promise<{ stage: 'draft' | 'published' }>
  createPass(templateId: string, externalPassId: string): Promise<{ id: string; groupKey: string | null }>
  findPasses(
    projectId: string,
    variable: string,
  ): Promise<{ total: number; items: { externalPassId: string; status: string }[] }>
  /** Returns the number of recipients of a broadcast. */
  countRecipients(projectId: string): Promise<number>
  scan(passId: string): Promise<{ result: string; pass: { label: string } | null }>
  /** Clients of orval and openapi-zod-client send files as JSON. */
  uploadImage?(image: Blob): Promise<{ id: string; width: number }>
}

/** Returns what the flow observed, which is the same for each client. */
export async function runFlow(calls: Calls, name: string, image: Blob) {
  const project = await calls.createProject(name)
  const template = await calls.createTemplate(project.id)
  const version = await calls.createVersion(template.id)
  const { stage } = await calls.publish(version.id)
  const pass = await calls.createPass(template.id, `${name}-1`)
  await calls.createPass(template.id, `${name}-2`)
  let { total, items } = await calls.findPasses(project.id, 'seat:A-17')
  while (items.some(({ status }) => status !== 'ISSUED')) {
    ;({ total, items } = await calls.findPasses(project.id, 'seat:A-17'))
  }
  const recipients = await calls.countRecipients(project.id)
  const scans = [await calls.scan(pass.id), await calls.scan(pass.id)]
  const uploaded = await calls.uploadImage?.(image)
  return {
    stage,
    found: items.map(({ externalPassId }) => externalPassId.slice(name.length)),
    total,
    isCounted: recipients >= 0,
    results: scans.map(({ result }) => result),
    labels: scans.map((scan) => scan.pass?.label),
    width: uploaded?.width,
  }
}

const definition = () => ({
  variables: [{ name: 'seat', label: 'Seat', required: true }],
  design: {
    organizationName: 'Polyglot',
    description: { en: 'Conference ticket', pt: 'Bilhete' },
    fields: { primary: [{ key: 'seat', label: 'Seat', value: '{{seat}}' }] },
  },
  languages: { default: 'en', others: ['pt'] },
  redemption: { maxUses: 1, windows: [{ start: '2020-05-20T06:00Z', end: '2120-05-20T20:00Z' }] },
})

const ticket = (templateId: string, externalPassId: string) => ({
  templateId,
  externalPassId,
  label: 'Ada Lovelace',
  variables: { seat: 'A-17' },
})

const status: ('QUEUED' | 'ISSUING' | 'ISSUED')[] = ['QUEUED', 'ISSUING', 'ISSUED']

const filterOf = (projectId: string, variable: string) => ({ projectId: [projectId], variable: [variable], status })

const message = { body: 'Doors open at 8:30.' }

type Forecast = components['schemas']['BroadcastForecast']

/** Narrows the response to a dry run, and to a broadcast. */
function recipientsOf(response: Forecast | { passCount: number | null; sendAt: string | null }): number {
  return 'dryRun' in response ? response.passCount : (response.passCount ?? 0)
}

/** Compiles only if the event has its own data type. */
export const describeEvent = ({ data }: components['schemas']['PassUpdatedEvent']): string => data.changedFields.join()

function required<T>({ data, error }: { data?: T | undefined; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

export function openapiFetch({ url, token }: Server): Calls {
  const client = createOpenApiFetch<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } })
  return {
    createProject: async (name) => required(await client.POST('/v1/projects', { body: { name } })),
    createTemplate: async (projectId) =>
      required(await client.POST('/v1/templates', { body: { name: 'Ticket', passType: 'eventTicket', projectId } })),
    createVersion: async (id) =>
      required(
        await client.POST('/v1/templates/{id}/versions', {
          params: { path: { id } },
          body: { definition: definition() },
        }),
      ),
    publish: async (id) =>
      required(await client.POST('/v1/template-versions/{id}/publish', { params: { path: { id } } })),
    createPass: async (templateId, id) => required(await client.POST('/v1/passes', { body: ticket(templateId, id) })),
    findPasses: async (id, variable) => {
      const query = filterOf(id, variable)
      return required(await client.GET('/v1/passes', { params: { query } }))
    },
    countRecipients: async (id) => {
      const params = { path: { id }, query: { dryRun: true } }
      return recipientsOf(required(await client.POST('/v1/projects/{id}/broadcasts', { params, body: message })))
    },
    scan: async (passId) => required(await client.POST('/v1/scans', { body: { passId } })),
    uploadImage: async (image) =>
      required(
        await client.POST('/v1/images', {
          // The generated type of a file is text.
          body: image as unknown as string,
          bodySerializer: (body: unknown) => body as Blob,
          headers: { 'content-type': image.type },
        }),
      ),
  }
}

export function heyApiFetch({ url, token }: Server): Calls {
  const client = createHeyApiClient({ baseUrl: url, auth: token })
  return {
    createProject: async (name) => required(await heyApi.projectsCreate({ client, body: { name } })),
    createTemplate: async (projectId) =>
      required(await heyApi.templatesCreate({ client, body: { name: 'Ticket', passType: 'eventTicket', projectId } })),
    createVersion: async (id) =>
      required(await heyApi.templatesCreateVersion({ client, path: { id }, body: { definition: definition() } })),
    publish: async (id) => required(await heyApi.templateVersionsPublish({ client, path: { id } })),
    createPass: async (templateId, id) => required(await heyApi.passesCreate({ client, body: ticket(templateId, id) })),
    findPasses: async (id, variable) => {
      const query = filterOf(id, variable)
      return required(await heyApi.passesList({ client, query }))
    },
    countRecipients: async (id) => {
      const call = { client, path: { id }, query: { dryRun: true }, body: message }
      return recipientsOf(required(await heyApi.broadcastsCreate(call)))
    },
    scan: async (passId) => required(await heyApi.scansCreate({ client, body: { passId } })),
    uploadImage: async (body) =>
      required(await heyApi.imagesCreate({ client, body, headers: { 'content-type': body.type } })),
  }
}

/** Orval's client has the URL of its generation, and takes headers with each call. */
export function orvalFetch({ token }: Server): Calls {
  const options = { headers: { authorization: `Bearer ${token}` } }
  const successOf = <R extends { status: number; data: unknown }, S extends R['status']>(
    response: R,
    ...statuses: S[]
  ) => {
    if (!statuses.includes(response.status as S)) throw new Error(JSON.stringify(response.data))
    return response.data as Extract<R, { status: S }>['data']
  }
  return {
    createProject: async (name) => successOf(await orval.projectsCreate({ name }, options), 201),
    createTemplate: async (projectId) =>
      successOf(await orval.templatesCreate({ name: 'Ticket', passType: 'eventTicket', projectId }, options), 201),
    createVersion: async (id) =>
      successOf(await orval.templatesCreateVersion(id, { definition: definition() }, options), 201),
    publish: async (id) => successOf(await orval.templateVersionsPublish(id, options), 200),
    createPass: async (templateId, id) =>
      successOf(await orval.passesCreate(ticket(templateId, id), options), 200, 201),
    findPasses: async (id, variable) => {
      const query = filterOf(id, variable)
      return successOf(await orval.passesList(query, options), 200)
    },
    countRecipients: async (id) =>
      recipientsOf(successOf(await orval.broadcastsCreate(id, message, { dryRun: true }, options), 200)),
    scan: async (passId) => successOf(await orval.scansCreate({ passId }, options), 200),
  }
}

export function zodClient({ url, token }: Server): Calls {
  // By default, axios adds brackets to the name of a repeated parameter.
  const paramsSerializer = { indexes: null }
  const headers = { authorization: `Bearer ${token}` }
  const client = createZodClient(url, { axiosConfig: { headers, paramsSerializer } })
  return {
    createProject: async (name) => client['projects.create']({ name }),
    createTemplate: async (projectId) =>
      client['templates.create']({ name: 'Ticket', passType: 'eventTicket', projectId }),
    createVersion: async (id) => client['templates.createVersion']({ definition: definition() }, { params: { id } }),
    publish: async (id) => client['templateVersions.publish'](undefined, { params: { id } }),
    createPass: async (templateId, id) => client['passes.create'](ticket(templateId, id)),
    findPasses: async (id, variable) => client['passes.list']({ queries: filterOf(id, variable) }),
    countRecipients: async (id) =>
      recipientsOf(await client['broadcasts.create'](message, { params: { id }, queries: { dryRun: true } })),
    scan: async (passId) => client['scans.create']({ passId }),
  }
}
