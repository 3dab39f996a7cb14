import { contract } from '../../src/core/contract/contract.ts'
import type { DefinitionInput, PassType } from '../../src/core/contract/schemas/definition.ts'
import type { TestWorkspace } from '../support/api.ts'

/** Returns a valid definition for both platforms, with parts that a test replaces. */
export function definition(parts: Partial<DefinitionInput> = {}): DefinitionInput {
  return {
    variables: [
      { name: 'tier', label: 'Tier', default: 'Green' },
      { name: 'seat', label: 'Seat', maxLength: 10 },
    ],
    design: {
      organizationName: 'Harbour Cinema',
      description: 'Ticket',
      fields: {
        primary: [{ key: 'name', label: 'Name', value: '{{pass.label}}' }],
        secondary: [
          { key: 'tier', label: 'Tier', value: '{{tier}}' },
          { key: 'seat', label: 'Seat', value: '{{seat}}' },
        ],
      },
    },
    ...parts,
  }
}

/** The join page of a template with `definition()`. */
export const joinPageOfTicket = {
  slug: 'ticket',
  title: 'Get a ticket',
  fields: [{ variable: 'seat' }],
  labelFrom: ['{{seat}}'],
  consent: { text: 'I agree.', version: '1', required: true },
}

export interface TemplateOptions {
  definition?: DefinitionInput
  passType?: PassType
  projectId?: string
  name?: string
}

export async function makeTemplate(workspace: TestWorkspace, options: TemplateOptions = {}) {
  const { passType = 'generic', projectId = null, name = 'Ticket' } = options
  return workspace.ok(contract.templates.create, { body: { name, passType, projectId } })
}

/** A template with one published version. */
export async function publishedTemplate(workspace: TestWorkspace, options: TemplateOptions = {}) {
  const template = await makeTemplate(workspace, options)
  const version = await publishVersion(workspace, template.id, options.definition ?? definition())
  return { ...template, versionId: version.id }
}

export async function publishVersion(workspace: TestWorkspace, templateId: string, content: DefinitionInput) {
  const params = { id: templateId }
  const draft = await workspace.ok(contract.templates.createVersion, { params, body: { definition: content } })
  return workspace.ok(contract.templateVersions.publish, { params: { id: draft.id } })
}

let passes = 0

export interface PassOptions {
  externalPassId?: string
  label?: string
  variables?: Record<string, unknown>
}

/** Returns the body of a valid request that creates a pass. */
export function passBody(templateId: string, options: PassOptions = {}) {
  passes += 1
  return { externalPassId: `pass-${passes}`, label: 'Ada Lovelace', templateId, ...options }
}

/** Creates a pass that no worker has issued yet: it is QUEUED. */
export function makePass(workspace: TestWorkspace, templateId: string, options: PassOptions = {}) {
  return workspace.ok(contract.passes.create, { body: passBody(templateId, options) })
}

/** Creates a pass of a separate template, issued by the worker. */
export async function issuedPass(workspace: TestWorkspace, options: PassOptions & TemplateOptions = {}) {
  const template = await publishedTemplate(workspace, options)
  const { externalPassId, label, variables } = options
  const pass = await makePass(workspace, template.id, {
    ...(externalPassId && { externalPassId }),
    ...(label && { label }),
    ...(variables && { variables }),
  })
  await workspace.api.runJobs()
  return workspace.ok(contract.passes.get, { params: { id: pass.id } })
}

/** Claims the jobs that issue the passes of a workspace, as a worker does. */
export function claimIssuing({ api, id: workspaceId }: TestWorkspace) {
  const limits = { limit: 100, leaseSeconds: 10, workspaceId }
  return api.services.store.statement((tx) => tx.jobs.claim('issuing', api.now, limits))
}

export function makeProject(workspace: TestWorkspace, name = 'Autumn season') {
  return workspace.ok(contract.projects.create, { body: { name } })
}
