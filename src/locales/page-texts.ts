import ar from './ar/pages.json' with { type: 'json' }
import de from './de/pages.json' with { type: 'json' }
import en from './en/pages.json' with { type: 'json' }
import es from './es/pages.json' with { type: 'json' }
import fr from './fr/pages.json' with { type: 'json' }
import he from './he/pages.json' with { type: 'json' }
import it from './it/pages.json' with { type: 'json' }
import ja from './ja/pages.json' with { type: 'json' }
import ko from './ko/pages.json' with { type: 'json' }
import type { SpokenLanguage } from './languages.ts'
import nl from './nl/pages.json' with { type: 'json' }
import pl from './pl/pages.json' with { type: 'json' }
import pt from './pt/pages.json' with { type: 'json' }
import tr from './tr/pages.json' with { type: 'json' }
import uk from './uk/pages.json' with { type: 'json' }
import zh from './zh/pages.json' with { type: 'json' }

/** The texts of hosted pages, in one language. Names in braces are placeholders. */
export type PageWords = typeof en

/** The texts by language. A missing language or text is a type error. */
export const pagesTexts: Record<SpokenLanguage, PageWords> = {
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
