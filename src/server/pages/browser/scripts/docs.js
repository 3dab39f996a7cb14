// Adds a search to the API reference. Without the script, the page has the same content and no search.
const main = document.querySelector('main')
const form = document.createElement('form')
form.setAttribute('role', 'search')
form.innerHTML =
  '<label for="search">Search</label> <input id="search" type="search" autocomplete="off" spellcheck="false"><p role="status"></p><ul></ul>'
document.querySelector('header').append(form)
const [input, status, list] = ['input', 'p', 'ul'].map((name) => form.querySelector(name))

const MAX_RESULTS = 12

/** Returns the places of the page and of the pages next to it. The text of a place includes its title. */
function places() {
  const own = [...main.querySelectorAll('article, details[id]')].map((part) => {
    const title = (part.querySelector('h3, summary > b') ?? part.querySelector('summary')).textContent
    const detail = part.querySelector('.route')?.textContent ?? ''
    return { href: `#${part.id}`, title, detail, text: part.textContent }
  })
  const links = [...main.querySelectorAll('a[href^="docs/"]')].map((link) => [
    link.getAttribute('href'),
    link.textContent,
  ])
  const others = [...new Map(links)].map(([href, title]) => ({ href, title, detail: '', text: title }))
  return [...own, ...others].map((place) => ({ ...place, text: place.text.toLowerCase() }))
}

let known

function find(words) {
  known ??= places()
  const rank = ({ title, detail }) => {
    const has = (text) => words.every((word) => text.toLowerCase().includes(word))
    return has(title) ? 0 : has(`${title} ${detail}`) ? 1 : 2
  }
  const found = known.filter(({ text }) => words.every((word) => text.includes(word)))
  return found.map((place) => ({ ...place, rank: rank(place) })).sort((a, b) => a.rank - b.rank)
}

function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  const found = words.length > 0 ? find(words) : []
  const shown = found.slice(0, MAX_RESULTS)
  list.replaceChildren(
    ...shown.map(({ href, title, detail }) => {
      const [item, link, note] = ['li', 'a', 'span'].map((name) => document.createElement(name))
      link.href = href
      link.textContent = title
      note.textContent = ` ${detail}`
      item.append(link, note)
      return item
    }),
  )
  const count =
    found.length > shown.length ? `the first ${shown.length} of ${found.length} results` : `${found.length} results`
  status.textContent = words.length === 0 ? '' : found.length === 1 ? '1 result' : count
}

/** Opens the part that a hash names, because a closed part would show nothing of it. */
function openPart(hash) {
  const target = document.getElementById(hash.slice(1))
  if (target?.matches('details')) target.open = true
}

function close() {
  input.value = ''
  show()
}

input.addEventListener('input', show)
form.addEventListener('submit', (event) => {
  event.preventDefault()
  list.querySelector('a')?.click()
})
list.addEventListener('click', (event) => {
  if (event.target.closest('a')) close()
})
form.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') close()
})
// A second click on a link does not change the hash.
addEventListener('click', (event) => openPart(event.target.closest('a')?.hash ?? ''))
addEventListener('hashchange', () => openPart(location.hash))
openPart(location.hash)
