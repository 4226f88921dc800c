// @ts-check
document.body.textContent = "Clew";
