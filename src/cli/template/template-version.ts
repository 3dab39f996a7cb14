import { Flags } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import type { Warning } from '../../core/contract/schemas/warnings.ts'
import type { TemplateVersion } from '../../core/contract/templates/template-versions.ts'
import { CliError, UsageError } from '../command/cli-error.ts'

export interface VersionChoice {
  templateId: string
  /** A version number; `undefined` for the newest. */
  version: number | undefined
  /** Whether only drafts are considered if `version` is `undefined`. */
  draftOnly?: true
}

/** @throws CliError if the version does not exist */
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
    hint: `to list the versions, run "passes template versions ${templateId}"; to create a draft, run "passes template push".`,
  })
}

export const templateVersionFlag = Flags.custom<number | 'latest'>({
  helpValue: '<number>|latest',
  parse: async (text) => {
    if (text === 'latest') return text
    if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`A version must be a number or "latest", not "${text}"`)
    return Number(text)
  },
})

/** Formats the warnings of a template, one per line, with a hint how to accept them; `undefined` if there are none. */
export function warningText(warnings: readonly Warning[]): string | undefined {
  if (warnings.length === 0) return undefined
  const lines = warnings.map(({ code, path, message }) => `Warning ${code}: ${path.join('.')}: ${message}.`)
  const codes = [...new Set(warnings.map(({ code }) => `"${code}"`))].join(', ')
  return [...lines, `If this is intended, add "accept": [${codes}] to the definition.`].join('\n')
}
