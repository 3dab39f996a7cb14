import { runsOf } from '../../../core/group-by.ts'
import { zoneOfPass } from '../../../core/rules/display/card.ts'
import { type DoorLanguage, doorEnglish, doorLanguage } from '../../../core/rules/redemption/scan-message.ts'
import { isTimeZone } from '../../../core/rules/redemption/time-zones.ts'
import { buildScope } from '../../../core/rules/template/resolve.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import { pageLanguage } from '../../pages/words.ts'
import { type Definitions, VERSIONS_AT_ONCE } from '../../wallet-sync/definitions.ts'

/** The languages by Accept-Language and X-Time-Zone. Cached, because a door sends the same headers with each scan. */
const languages = new Map<string, DoorLanguage>()
const MAX_LANGUAGES = 1_000

export function languageOf({ headers }: Pick<RequestContext, 'headers'>): DoorLanguage {
  const zone = headers.get('x-time-zone') ?? ''
  const key = `${zone}\n${headers.get('accept-language') ?? ''}`
  const known = languages.get(key)
  if (known) return known
  const { tag, locale } = pageLanguage(headers)
  const language = doorLanguage(tag, locale, isTimeZone(zone) ? zone : undefined)
  if (languages.size >= MAX_LANGUAGES) languages.clear()
  languages.set(key, language)
  return language
}

/** Returns the language and the time zone of each message. If a door sends no time zone, that of the pass is used. */
export async function languagesOfMessages(
  tx: Repositories,
  messages: { pass: StoredPass | null; language: DoorLanguage | undefined }[],
  definitions: Definitions,
): Promise<DoorLanguage[]> {
  const zones = new Map<string, string | undefined>()
  const needing = messages.flatMap(({ pass, language }) => (pass && language?.zone === undefined ? [pass] : []))
  for (const passes of runsOf(needing, ({ templateVersionId }) => templateVersionId, VERSIONS_AT_ONCE)) {
    const ids = [...new Set(passes.map(({ templateVersionId }) => templateVersionId))]
    const versions = await definitions.findVersions(passes[0]!.workspaceId, ids, tx)
    for (const pass of passes) {
      const { definition } = versions.get(pass.templateVersionId) ?? {}
      const scope = definition && buildScope(definition, pass, pass.expiresAt)
      zones.set(pass.id, definition && zoneOfPass(definition, scope!))
    }
  }
  return messages.map(({ pass, language = doorEnglish }) => ({
    ...language,
    zone: language.zone ?? (pass ? zones.get(pass.id) : undefined),
  }))
}
