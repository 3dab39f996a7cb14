import type { Pass } from '../../core/contract/passes.ts'
import type { ListShape } from '../list/shape.ts'

export const passesShape: ListShape<Pass> = {
  columns: [
    { name: 'id', value: ({ id }) => id, kind: 'id' },
    { name: 'externalPassId', value: ({ externalPassId }) => externalPassId, title: 'external id' },
    { name: 'label', value: ({ label }) => label },
    { name: 'status', value: ({ status }) => status, whole: true },
    { name: 'revision', value: ({ revision }) => revision },
    { name: 'templateId', value: ({ templateId }) => templateId, kind: 'id', title: 'template' },
    { name: 'templateVersion', value: ({ templateVersion }) => templateVersion },
    { name: 'latestTemplateVersion', value: (pass) => pass.latestTemplateVersion },
    { name: 'projectId', value: ({ projectId }) => projectId, kind: 'id', title: 'project' },
    { name: 'expiresAt', value: ({ expiresAt }) => expiresAt, kind: 'time', title: 'expires', none: 'never' },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'created' },
    { name: 'updatedAt', value: ({ updatedAt }) => updatedAt, kind: 'time', title: 'updated' },
    { name: 'appleLink', value: ({ hostedLinks }) => hostedLinks.apple },
    { name: 'googleLink', value: ({ hostedLinks }) => hostedLinks.google },
    { name: 'smartLink', value: ({ hostedLinks }) => hostedLinks.smart },
    // One cell of JSON: which variables later pages hold cannot be known when the header is written.
    { name: 'variables', value: ({ variables }) => JSON.stringify(variables) },
  ],
  table: ['id', 'externalPassId', 'label', 'status', 'expiresAt'],
}
