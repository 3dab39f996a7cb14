import type { Client } from '../../client/client.ts'
import type { TemplateVersion } from '../../core/contract/template-versions.ts'
import { CliError } from '../command/errors.ts'

export interface VersionChoice {
  templateId: string
  /** A number, or undefined for the newest. */
  version: number | undefined
  /** Of the newest, only a draft counts. */
  draftOnly?: true
}

/** @throws CliError where the template has no such version */
export async function getVersion(client: Client, choice: VersionChoice): Promise<TemplateVersion> {
  const { templateId, version, draftOnly } = choice
  const versions = await client.templateVersions.list({ query: { templateId } })
  const wanted = versions.find((found) =>
    version === undefined ? !draftOnly || found.stage === 'draft' : found.version === version,
  )
  if (wanted) return wanted
  const what = version === undefined ? (draftOnly ? 'no draft' : 'no version') : `no version ${version}`
  throw new CliError(`Template ${templateId} has ${what}`, {
    code: 'NOT_FOUND',
    hint: `passes template versions ${templateId} lists what there is; passes template push makes a draft.`,
  })
}
