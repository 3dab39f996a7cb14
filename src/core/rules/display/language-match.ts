/** Languages of before, as old phones name them. */
const formerTags: ReadonlyMap<string, string> = new Map([['iw', 'he']])

/**
 * The first locale that is among some languages, if need be without its region, and then rather in its own script: zh-TW finds
 * zh-Hant, and de-AT finds de.
 */
export function nearestLanguage(
  locales: readonly string[],
  languages: readonly string[],
): { locale: string; language: string } | undefined {
  for (const locale of locales) {
    const language =
      languages.find((other) => other.toLowerCase() === locale.toLowerCase()) ??
      languages.find((other) => bareTag(other) === bareTag(locale) && scriptOf(other) === scriptOf(locale)) ??
      languages.find((other) => bareTag(other) === bareTag(locale))
    if (language !== undefined) return { locale, language }
  }
  return undefined
}

/** Of a locale, without region and script. */
export function bareTag(locale: string): string {
  const language = locale.split('-')[0]!.toLowerCase()
  return formerTags.get(language) ?? language
}

/** What a locale is likely written in, as `Hant` for zh-TW; undefined for what is none. */
function scriptOf(locale: string): string | undefined {
  try {
    return new Intl.Locale(locale).maximize().script
  } catch {
    return undefined
  }
}

const RIGHT_TO_LEFT = /^(?:ar|he|iw|fa|ur|ps|sd|ug|yi|dv|ckb)\b/i

/** Which side a language is read from. */
export function directionOfLanguage(language: string): 'ltr' | 'rtl' {
  return RIGHT_TO_LEFT.test(language) ? 'rtl' : 'ltr'
}
