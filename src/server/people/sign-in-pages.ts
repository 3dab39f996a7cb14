import type { PageWords } from '../../locales/page-texts.ts'
import { pageIcon } from '../pages/assets.ts'
import { buildPage, escapeHtml, fillHtml, type Page } from '../pages/html.ts'
import type { PageLanguage } from '../pages/words.ts'

export type SignInProblem = Exclude<keyof PageWords['signIn'], 'title' | 'choose' | 'again'>

export function signInProblemPage(problem: SignInProblem, language: PageLanguage, email = ''): Page {
  const { signIn } = language.words
  const what = fillHtml(signIn[problem], { email: `<bdi>${escapeHtml(email)}</bdi>` })
  return page(language, `<h1>${escapeHtml(signIn.title)}</h1><p>${what}</p>${list([[signIn.again, './login']])}`)
}

/**
 * Returns the page on which a person with roles in several workspaces selects one.
 * @param query the parameters that begin the same sign-in
 */
export function workspacesPage(names: readonly string[], query: Record<string, string>, language: PageLanguage): Page {
  const { signIn } = language.words
  const links = names.map((workspace): [string, string] => [
    workspace,
    `./login?${new URLSearchParams({ ...query, workspace })}`,
  ])
  return page(language, `<h1>${escapeHtml(signIn.choose)}</h1>${list(links)}`)
}

function page({ words, tag }: PageLanguage, main: string): Page {
  return buildPage({ title: words.signIn.title, language: tag, main, icon: `..${pageIcon.path}` })
}

function list(links: readonly (readonly [text: string, href: string])[]): string {
  const items = links.map(([text, href]) => `<li><a dir="auto" href="${escapeHtml(href)}">${escapeHtml(text)}</a></li>`)
  return `<ul>${items.join('')}</ul>`
}
