import { Flags } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import type { Warning } from '../../core/contract/definition.ts'
import type { TemplateVersion } from '../../core/contract/template-versions.ts'
import { CliError, UsageError } from '../command/errors.ts'

/** Which version of a template a command is about. */
export interface VersionChoice {
  templateId: string
  /** A number, or undefined for the newest. */
  version: number | undefined
  /** Of the newest, only a draft counts. */
  draftOnly?: true
}

/** A version of a template: see VersionChoice. @throws CliError where it has none such */
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

/** A published version to move passes to: a number, or latest. */
export const templateVersionFlag = Flags.custom<number | 'latest'>({
  helpValue: '<number>|latest',
  parse: async (text) => {
    if (text === 'latest') return text
    if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`A version is a number or latest, and not "${text}"`)
    return Number(text)
  },
})

/** Warnings of a template for people: a line each, and how to accept them; undefined where there are none. */
export function warningText(warnings: readonly Warning[]): string | undefined {
  if (warnings.length === 0) return undefined
  const lines = warnings.map(({ code, path, message }) => `Warning ${code}: ${path.join('.')}: ${message}.`)
  const codes = [...new Set(warnings.map(({ code }) => `"${code}"`))].join(', ')
  return [...lines, `Where that is meant so, the definition says "accept": [${codes}].`].join('\n')
}
