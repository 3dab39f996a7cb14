import ar from './ar/scans.json' with { type: 'json' }
import de from './de/scans.json' with { type: 'json' }
import en from './en/scans.json' with { type: 'json' }
import es from './es/scans.json' with { type: 'json' }
import fr from './fr/scans.json' with { type: 'json' }
import he from './he/scans.json' with { type: 'json' }
import it from './it/scans.json' with { type: 'json' }
import ja from './ja/scans.json' with { type: 'json' }
import ko from './ko/scans.json' with { type: 'json' }
import type { SpokenLanguage } from './languages.ts'
import nl from './nl/scans.json' with { type: 'json' }
import pl from './pl/scans.json' with { type: 'json' }
import pt from './pt/scans.json' with { type: 'json' }
import tr from './tr/scans.json' with { type: 'json' }
import uk from './uk/scans.json' with { type: 'json' }
import zh from './zh/scans.json' with { type: 'json' }

/** The texts of decisions about scans, in one language. Names in braces are placeholders. */
export type ScanWords = typeof en

/** The texts by language. A missing language or text is a type error. */
export const scansTexts: Record<SpokenLanguage, ScanWords> = {
  en,
  de,
  fr,
  es,
  pt,
  it,
  nl,
  pl,
  tr,
  uk,
  ar,
  he,
  ja,
  ko,
  zh,
}
