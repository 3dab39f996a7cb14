import { Args } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import { type Template, TemplateKey } from '../../core/contract/templates.ts'
import { Uuid } from '../../core/ids.ts'
import { CliError } from '../command/errors.ts'

export const templateArgs = { template: Args.string({ description: 'Key or id of the template.', required: true }) }

/** @throws CliError where there is no such template */
export async function getTemplate(client: Client, keyOrId: string): Promise<Template> {
  if (Uuid.safeParse(keyOrId).success) return client.templates.get({ params: { id: keyOrId } })
  const template = TemplateKey.safeParse(keyOrId).success && (await findTemplateByKey(client, keyOrId))
  if (template) return template
  throw new CliError(`There is no template with the key ${keyOrId}`, {
    code: 'TEMPLATE_NOT_FOUND',
    details: { key: keyOrId },
    hint: 'passes template list shows the templates with their keys.',
  })
}

export async function findTemplateByKey(client: Client, key: string): Promise<Template | undefined> {
  const { items } = await client.templates.list({ query: { key, limit: 1 } })
  return items[0]
}
