import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import type { Definition } from '../../core/contract/definition.ts'
import type { TemplateVersion } from '../../core/contract/template-versions.ts'
import type { Template } from '../../core/contract/templates.ts'
import { type Change, findChanges } from './compare.ts'
import { NIL_ID, type TemplateFile } from './template-file.ts'

export type StoredVersion = Awaited<ReturnType<Client['templateVersions']['get']>>

/** A template as the server has it. */
export interface StoredTemplate {
  template: Template
  /** The name of its project, null for none; undefined where the file does not say which it should be. */
  project: string | null | undefined
  newest: StoredVersion | undefined
  /** The newest of those that are published. */
  published: StoredVersion | undefined
}

/** The template that a file is about: the one that is named, else the one with its key; undefined where there is none. */
export async function findStored(
  client: Client,
  file: Pick<TemplateFile, 'key' | 'project'>,
  templateId?: string,
): Promise<StoredTemplate | undefined> {
  const template = templateId
    ? await client.templates.get({ params: { id: templateId } })
    : file.key && (await findTemplateByKey(client, file.key))
  if (!template) return undefined
  const versions = await client.templateVersions.list({ query: { templateId: template.id } })
  const read = (version: TemplateVersion | undefined) =>
    version && client.templateVersions.get({ params: { id: version.id } })
  const [first] = versions
  const newest = await read(first)
  const published =
    first?.stage === 'published' ? newest : await read(versions.find(({ stage }) => stage === 'published'))
  return { template, project: await projectOf(client, file, template), newest, published }
}

async function projectOf(client: Client, file: Pick<TemplateFile, 'project'>, { projectId }: Template) {
  if (file.project === undefined) return undefined
  return projectId && (await client.projects.get({ params: { id: projectId } })).name
}

/** What a file and one version of its template differ in; what the file does not say is not compared. */
export function changesTo(
  stored: StoredTemplate | undefined,
  version: StoredVersion | undefined,
  file: TemplateFile,
  definition: Definition,
): Change[] {
  const { key, name, description, project, passType } = file
  const wanted = {
    ...(key !== undefined && { key }),
    name,
    ...(description !== undefined && { description }),
    ...(project !== undefined && { project }),
    passType,
  }
  const found = stored && { ...stored.template, project: stored.project }
  const said = found && Object.fromEntries(Object.keys(wanted).map((name) => [name, found[name as keyof typeof found]]))
  return [...findChanges(said ?? {}, wanted), ...findChanges(version?.definition ?? {}, definition, 'definition')]
}

/** The definition of a file with the ids of images that the version shows with the same bytes; nothing is uploaded. */
export async function withStoredImages(
  client: Client,
  file: TemplateFile,
  version: StoredVersion | undefined,
): Promise<Definition> {
  const ids = await Promise.all(
    file.images.map(async ({ role, bytes }) => {
      const id = version?.definition.design.images[role]
      const isSame = id && (await findImage(client, id))?.equals(bytes)
      return [role, isSame ? id : NIL_ID] as const
    }),
  )
  return file.withImages(new Map(ids))
}

/** Undefined where there is none: a draft may name any. */
async function findImage(client: Client, id: string): Promise<Buffer | undefined> {
  try {
    return Buffer.from((await client.request({ method: 'GET', path: `/images/${id}` })).body)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

async function findTemplateByKey(client: Client, key: string): Promise<Template | undefined> {
  const { items } = await client.templates.list({ query: { key, limit: 1 } })
  return items[0]
}
