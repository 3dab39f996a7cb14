const byId = (id) => document.getElementById(id)
const [state, faults, holder, language, outline] = ['state', 'faults', 'holder', 'language', 'outline'].map(byId)
const panels = [...document.querySelectorAll('.panel')].map((host) => {
  const root = host.attachShadow({ mode: 'open' })
  const sheet = new CSSStyleSheet()
  root.adoptedStyleSheets = [sheet]
  const content = document.createElement('div')
  content.className = 'preview'
  root.append(content)
  return { scheme: host.dataset.scheme, sheet, content, style: '' }
})
const chosen = new URLSearchParams(location.hash.slice(1))
let asked = 0

async function refresh() {
  asked += 1
  const turn = asked
  try {
    const answer = await fetch(`/view?${chosen}`, { cache: 'no-store' })
    if (!answer.ok) throw new Error(await answer.text())
    const view = await answer.json()
    if (turn === asked) show(view)
  } catch {
    state.textContent = 'The program has ended; what is shown may be old.'
  }
}

function show(view) {
  document.title = view.title
  byId('title').textContent = view.title
  state.textContent = stateOf(view)
  faults.hidden = view.faults.length === 0
  faults.replaceChildren(
    ...view.faults.map((line) => Object.assign(document.createElement('p'), { textContent: line })),
  )
  if (view.phones === null) return
  for (const panel of panels) {
    const style = view.styles[panel.scheme]
    if (style !== panel.style) panel.sheet.replaceSync(style)
    panel.style = style
    draw(panel.content, view.phones[panel.scheme])
  }
  draw(outline, view.outline)
  offer(
    holder,
    view.holders.map((name, index) => [name, String(index)]),
    String(view.holder),
  )
  byId('of-language').hidden = view.languages.length < 2
  offer(
    language,
    view.languages.map((tag) => [nameOf(tag), tag]),
    view.language,
  )
}

function stateOf({ faults, phones }) {
  if (faults.length === 0) return 'Up to date'
  return phones === null ? 'Nothing can be drawn yet' : 'The last version that could be drawn'
}

function offer(select, options, value) {
  if (
    select.options.length !== options.length ||
    options.some(([name, value], index) => select.options[index].text !== name || select.options[index].value !== value)
  ) {
    select.replaceChildren(...options.map(([name, value]) => new Option(name, value)))
  }
  select.value = value
}

function nameOf(tag) {
  return `${new Intl.DisplayNames(tag, { type: 'language' }).of(tag)} (${tag})`
}

function draw(element, html) {
  const template = document.createElement('template')
  template.innerHTML = html
  match(element, template.content)
}

// Patches a view into the page: unchanged elements stay, so that the scroll position, opened details, the focus, and the
// selection survive a save.
function match(from, to) {
  const [old, wanted] = [[...from.childNodes], [...to.childNodes]]
  wanted.forEach((node, index) => {
    const there = old[index]
    if (!there) from.append(node)
    else if (there.nodeType !== node.nodeType || there.nodeName !== node.nodeName) there.replaceWith(node)
    else if (node.nodeType !== Node.ELEMENT_NODE) {
      if (there.data !== node.data) there.data = node.data
    } else {
      for (const { name } of [...there.attributes])
        if (!node.hasAttribute(name) && name !== 'open') there.removeAttribute(name)
      for (const { name, value } of node.attributes)
        if (there.getAttribute(name) !== value) there.setAttribute(name, value)
      match(there, node)
    }
  })
  for (const surplus of old.slice(wanted.length)) surplus.remove()
}

for (const select of [holder, language])
  select.addEventListener('change', () => {
    chosen.set(select.id, select.value)
    history.replaceState(null, '', `#${chosen}`)
    refresh()
  })
const events = new EventSource('/events')
events.addEventListener('open', refresh)
events.addEventListener('change', refresh)
events.addEventListener('error', () => {
  state.textContent = 'The program has ended; what is shown may be old.'
})
