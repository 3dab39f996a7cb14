import type { Pass } from '../../core/contract/passes.ts'
import type { Project } from '../../core/contract/projects.ts'
import type { Template } from '../../core/contract/templates.ts'
import { details, localTime, localTimeOr } from '../command/output.ts'

/** How one record of each resource looks to people. */

export function showProject(project: Project): string {
  return details([
    ['Project', project.id],
    ['Name', project.name],
    ['Description', project.description || null],
    ['Colour', project.color],
    ['Created', localTime(project.createdAt)],
    ['Updated', localTime(project.updatedAt)],
  ])
}

export function showTemplate(template: Template): string {
  return details([
    ['Template', template.id],
    ['Key', template.key],
    ['Name', template.name],
    ['Description', template.description || null],
    ['Pass type', template.passType],
    ['Project', template.projectId ?? 'none'],
    ['Published version', template.latestPublishedVersion ?? 'none'],
    ['Created', localTime(template.createdAt)],
    ['Updated', localTime(template.updatedAt)],
  ])
}

export function showPass(pass: Pass): string {
  return details([
    ['Pass', pass.id],
    ['External id', pass.externalPassId],
    ['Label', pass.label],
    ['Status', pass.status],
    ['Template', pass.templateId && `${pass.templateId} (version ${pass.templateVersion})`],
    ['Project', pass.projectId],
    ['Revision', pass.revision],
    ['Expires', localTimeOr(pass.expiresAt, 'never')],
    ['Created', localTime(pass.createdAt)],
    ['Apple link', pass.hostedLinks.apple],
    ['Google link', pass.hostedLinks.google],
    ['Smart link', pass.hostedLinks.smart],
    ...Object.entries(pass.variables).map(([name, value]) => [`  ${name}`, textOf(value)] as const),
  ])
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
