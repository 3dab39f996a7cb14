import type { Client } from '../../client/client.ts'
import { fileError } from '../template/json-file.ts'
import { changesTo, findStored, withStoredImages } from '../template/stored-template.ts'
import { requirePublishable, type TemplateFile } from '../template/template-file.ts'
import { pushTemplate } from '../template/template-push.ts'
import type { ProjectIds } from './plan-projects.ts'
import type { Step } from './step.ts'

export interface TemplatePlanOptions {
  publish: boolean
  /** Known once the projects before it were carried out. */
  projectIds: ProjectIds
}

/** @throws CliError where what is to be published cannot be */
export async function planTemplate(client: Client, file: TemplateFile, options: TemplatePlanOptions): Promise<Step> {
  const { publish, projectIds } = options
  const stored = await findStored(client, file)
  const step = { kind: 'template', name: file.key!, file: file.path } as const
  const carryOut = async () => {
    const projectId = typeof file.project === 'string' ? projectIds.get(file.project) : file.project
    return (await pushTemplate(client, file, { publish, projectId })).outcome
  }
  const definition = await withStoredImages(client, file, stored?.newest)
  const changes = changesTo(stored, stored?.newest, file, definition)
  const { stage } = stored?.newest ?? {}
  if (publish && stage === 'draft') changes.push({ path: 'stage', before: 'draft', after: 'published' })
  if (stored && changes.length === 0) return { ...step, action: 'unchanged', changes }
  if (publish) await requirePublishable(file)
  // Of what is made, all is new.
  return stored
    ? { ...step, action: 'change', changes, carryOut }
    : { ...step, action: 'create', changes: [], carryOut }
}

/** @throws CliError at the line of each project that is not there when the templates come to it */
export async function requireProjects(
  files: readonly TemplateFile[],
  names: ReadonlySet<string>,
  where: string,
): Promise<void> {
  for (const file of files) {
    if (typeof file.project !== 'string' || names.has(file.project)) continue
    const message = `There is no project ${file.project} ${where}`
    throw await fileError(file, 'belongs to a project that is not there', [{ path: ['project'], message }])
  }
}
