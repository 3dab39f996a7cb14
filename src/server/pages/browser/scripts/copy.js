const address = document.querySelector('.address')
const button = document.querySelector('.copy')
button.hidden = false
button.addEventListener('click', async () => {
  address.select()
  // Pages on plain http have no access to the clipboard, and some apps do not grant it.
  const written = navigator.clipboard?.writeText(address.value) ?? Promise.reject()
  await written.catch(() => document.execCommand('copy'))
  document.querySelector('.copied').textContent = button.dataset.done
})
